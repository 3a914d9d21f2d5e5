import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CoxswainError, FencedError, isA, JournalError, messageOf } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunLog, Signal, StoredRun, TimedSignal } from '../record-store.ts';
import type { Row } from '../row.ts';
import { chainHash, type HashedRow } from './chain.ts';
import { dataVersion, mendOf, rollback } from './database.ts';
import { storeValue } from './values.ts';

/** Rows that are written at once. */
const BATCH = 256;
const HEARTBEAT_MS = 5_000;
const LOOK_MS = 50;

/** The log of one run in an SQLite file: buffers rows and commits them in groups, as long as it is the run's owner. */
export class SqliteLog implements RunLog {
  readonly run: StoredRun;
  readonly epoch: number;
  onCommit: (() => void) | undefined;
  onFailure: ((error: Error) => void) | undefined;
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #key: string | undefined;
  readonly #dataVersion: () => number;
  readonly #insert: StatementSync;
  readonly #advance: StatementSync;
  #head: string;
  #count: number;
  #buffer: Row[] = [];
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #scheduled = false;
  #isOver = false;
  readonly #onEnd: () => void;
  #failure: Error | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #seen = new Set<string>();
  #watchers = 0;
  #look: NodeJS.Timeout | undefined;
  #version = -1;
  onSignal: (() => void) | undefined;

  constructor(of: {
    database: DatabaseSync;
    file: string;
    key: string | undefined;
    run: StoredRun;
    epoch: number;
    head: string;
    count: number;
    /** Told when it writes no more. */
    onEnd: (log: SqliteLog) => void;
  }) {
    this.#database = of.database;
    this.#file = of.file;
    this.#key = of.key;
    this.run = of.run;
    this.epoch = of.epoch;
    this.#onEnd = () => of.onEnd(this);
    this.#head = of.head;
    this.#count = of.count;
    this.#dataVersion = dataVersion(this.#database);
    this.#insert = this.#database.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#advance = this.#database.prepare(
      'UPDATE runs SET head = ?, count = ?, heartbeat = ?, updated = ? WHERE id = ? AND epoch = ? AND pid IS NOT NULL',
    );
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  append(row: Row): void {
    if (this.#failure !== undefined) return;
    this.#buffer.push(row);
    if (this.#buffer.length >= BATCH) this.#flush();
    else this.#schedule();
  }

  commit(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#buffer.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#failure === undefined && this.#buffer.length > 0) this.#write();
    const failure = this.#failure;
    for (const { resolve, reject } of waiting) failure === undefined ? resolve() : reject(failure);
    if (failure !== undefined) return;
    this.onCommit?.();
    if (this.#failure === undefined && !this.#isOver) this.#lookForSignals();
  }

  #write(): void {
    const rows = this.#buffer;
    this.#buffer = [];
    let head = this.#head;
    this.#transaction(() => {
      const hashed = rows.map((row) => {
        const one = this.#hashed(row, head);
        head = one.hash;
        return one;
      });
      // First, so that who was fenced is told that and no duplicate record.
      this.#own(head, this.#count + rows.length);
      for (const row of hashed) this.#insertRow(row);
    });
    if (this.#failure !== undefined) return;
    this.#head = head;
    this.#count += rows.length;
  }

  #hashed(row: Row, before: string): HashedRow & { readonly hash: string } {
    const hashed: HashedRow = {
      ...row,
      request: storeValue(this.#database, row.request),
      value: storeValue(this.#database, row.value),
    };
    return { ...hashed, hash: chainHash(this.run.id, before, hashed, this.#key) };
  }

  #insertRow(row: HashedRow & { readonly hash: string }): void {
    const { record, key, kind, event, attempt, epoch, time, step, traceId, spanId, request, value, hash } = row;
    this.#insert.run(
      this.run.id,
      record,
      key,
      kind,
      event,
      attempt,
      epoch,
      time,
      step,
      traceId,
      spanId,
      request,
      value,
      hash,
    );
  }

  /** Fails where another owner has come: its epoch is higher. */
  #own(head: string, count: number): void {
    const now = Date.now();
    const { changes } = this.#advance.run(head, count, now, now, this.run.id, this.epoch);
    if (changes !== 1)
      throw new FencedError(`run ${this.run.id}: another process has taken it over; this one does nothing more`);
  }

  #transaction(work: () => void): void {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      work();
      this.#database.exec('COMMIT');
    } catch (thrown) {
      rollback(this.#database);
      this.#fail(this.#typed(thrown));
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    clearInterval(this.#heartbeat);
    this.#stopLooking();
    this.onFailure?.(error);
    this.#onEnd();
  }

  /** Its store is closed under it: what was appended is kept, the run fails. */
  closeWithStore(): void {
    if (this.#isOver || this.#failure !== undefined) return;
    this.#flush();
    this.#fail(new JournalError(`${this.#file}: was closed while run ${this.run.id} was under way. Resume the run.`));
  }

  #beat(): void {
    if (this.#failure === undefined) this.#transaction(() => this.#own(this.#head, this.#count));
  }

  signals(): readonly TimedSignal[] {
    const rows = this.#database
      .prepare('SELECT id, value, created FROM signals WHERE run = ? ORDER BY created')
      .all(this.run.id) as { id: string; value: string; created: number }[];
    const fresh = rows.filter(({ id }) => !this.#seen.has(id));
    for (const { id } of fresh) this.#seen.add(id);
    return fresh.map(({ value, created }) => ({ ...(JSON.parse(value) as Signal), time: created }));
  }

  watch(): () => void {
    this.#watchers += 1;
    this.#look ??= setInterval(() => this.#lookForSignals(), LOOK_MS);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#stopLooking();
    };
  }

  #stopLooking(): void {
    clearInterval(this.#look);
    this.#look = undefined;
  }

  #lookForSignals(): void {
    try {
      const version = this.#dataVersion();
      if (version === this.#version) return;
      this.#version = version;
      this.onSignal?.();
    } catch (thrown) {
      this.#fail(this.#typed(thrown));
    }
  }

  #typed(thrown: unknown): Error {
    if (isA(thrown, CoxswainError)) return thrown;
    return new JournalError(`${this.#file}: ${mendOf(messageOf(thrown))}`, { cause: thrown });
  }

  async close(status: string, result: Json | undefined, pending: readonly Json[]): Promise<void> {
    await this.commit();
    this.#stopLooking();
    clearInterval(this.#heartbeat);
    const end = this.#database.prepare(
      `UPDATE runs SET status = ?, result = ?, pending = ?, updated = ?, host = NULL, pid = NULL, boot = NULL, heartbeat = NULL
       WHERE id = ? AND epoch = ?`,
    );
    this.#transaction(() => {
      const text = result === undefined ? null : storeValue(this.#database, result);
      const { changes } = end.run(status, text, JSON.stringify(pending), Date.now(), this.run.id, this.epoch);
      if (changes !== 1) throw new FencedError(`run ${this.run.id}: another process has taken it over`);
    });
    if (this.#failure !== undefined) throw this.#failure;
    this.#isOver = true;
    this.#onEnd();
  }

  abandon(): void {
    if (this.#failure !== undefined || this.#isOver) return;
    this.#isOver = true;
    this.#flush();
    this.onFailure = undefined;
    // Else nobody could go on with it until this process ends.
    const release = 'UPDATE runs SET host = NULL, pid = NULL, boot = NULL, heartbeat = NULL WHERE id = ? AND epoch = ?';
    this.#transaction(() => this.#database.prepare(release).run(this.run.id, this.epoch));
    this.#fail(new JournalError(`run ${this.run.id}: its journal is closed`));
  }
}
