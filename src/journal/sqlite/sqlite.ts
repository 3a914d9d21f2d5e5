import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, CoxswainError, FencedError, isA, JournalError, messageOf } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { checkOptions } from '../../core/options.ts';
import type { OpenOptions, RecordStore, RunLog, RunSummary, Signal, StoredRun } from '../record-store.ts';
import type { Row } from '../row.ts';
import { chainHash, GENESIS } from './chain.ts';
import { mendOf, openDatabase, rollback } from './database.ts';
import { isAlive, thisProcess } from './owner.ts';
import { SqliteLog } from './sqlite-log.ts';
import { loadValue, sweepBlobs } from './values.ts';

export interface SqliteOptions {
  /** Keys the hash chain (HMAC-SHA-256): records changed by somebody without the key are found. Without it changes by accident are. */
  readonly key?: string | undefined;
}

/**
 * A journal in one SQLite file: runs survive a kill, a deploy, a reboot. Two processes may share the file.
 *
 * @throws JournalError where the file is damaged, foreign, newer, locked or may not be written; at its first use.
 * @example const result = await runAgent(lead, 'Compare A and B', { model, journal: sqlite('runs.db') });
 */
export function sqlite(file: string, options: SqliteOptions = {}): RecordStore {
  checkOptions('sqlite', options, ['key']);
  if (typeof file !== 'string' || file === '')
    throw new ConfigurationError('sqlite.file', 'expected a path', "Name the file: sqlite('runs.db').");
  return new SqliteStore(file, options.key);
}

interface RunRow {
  readonly id: string;
  readonly agent: string;
  readonly status: string;
  readonly epoch: number;
  readonly host: string | null;
  readonly pid: number | null;
  readonly boot: string | null;
  readonly heartbeat: number | null;
  readonly head: string;
  readonly count: number;
  readonly created: number;
  readonly updated: number;
  readonly forked_from: string | null;
  readonly result: string | null;
  readonly pending: string;
}

class SqliteStore implements RecordStore {
  readonly #file: string;
  readonly #key: string | undefined;
  #database: DatabaseSync | undefined;
  /** The run that was read just now. */
  #read: { readonly id: string; readonly rows: Row[]; readonly head: string } | undefined;
  /** Of the runs under way. */
  readonly #logs = new Set<SqliteLog>();

  constructor(file: string, key: string | undefined) {
    this.#file = file;
    this.#key = key;
  }

  get #open(): DatabaseSync {
    this.#database ??= openDatabase(this.#file);
    return this.#database;
  }

  async create(run: {
    id: string;
    agent: string;
    forkedFrom?: string | undefined;
    rows?: readonly Row[];
  }): Promise<RunLog> {
    const now = Date.now();
    const { host, pid, boot } = thisProcess();
    const rows = run.rows ?? [];
    // What a fork begins with was written in other epochs: its own comes after them.
    const epoch = rows.reduce((highest, row) => Math.max(highest, row.epoch), 0) + 1;
    this.#transaction((database) => {
      const there = this.#row(run.id);
      // One that died before its first record has never begun.
      if (there !== undefined && there.count === 0 && !isOwned(there)) {
        database.prepare('DELETE FROM runs WHERE id = ?').run(run.id);
      } else if (there !== undefined) {
        throw new ConfigurationError(
          'runId',
          `the run ${run.id} exists`,
          'Resume it with resumeRun, or choose another id.',
        );
      }
      database
        .prepare('INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(
          run.id,
          run.agent,
          'running',
          epoch,
          host,
          pid,
          boot,
          now,
          GENESIS,
          0,
          now,
          now,
          run.forkedFrom ?? null,
          null,
          '[]',
        );
    });
    const log = this.#log(run.id, epoch, GENESIS, 0, [...rows]);
    for (const row of rows) log.append(row);
    await log.commit();
    return log;
  }

  async open(id: string, { takeover = false, epoch: seen }: OpenOptions = {}): Promise<RunLog> {
    let epoch = 1;
    let loaded: { rows: Row[]; head: string } = { rows: [], head: GENESIS };
    this.#transaction((database) => {
      const row = this.#row(id);
      if (row === undefined) throw unknownRun(id);
      if (!takeover && isOwned(row)) {
        throw new FencedError(
          `run ${id} is under way in process ${row.pid} on ${row.host}. Wait for it, or resume with takeover: true.`,
        );
      }
      if (seen !== undefined && seen !== row.epoch)
        throw new FencedError(`run ${id} was taken over by another process in the meantime. Resume it again.`);
      // Before it is taken: one that is damaged stays as it is.
      const { head, count } = row;
      const read = this.#read;
      const isRead = read?.id === id && read.head === head && read.rows.length === count;
      loaded = isRead ? read : this.#rows(id);
      epoch = row.epoch + 1;
      const own = thisProcess();
      database
        .prepare(
          "UPDATE runs SET epoch = ?, host = ?, pid = ?, boot = ?, heartbeat = ?, status = 'running' WHERE id = ?",
        )
        .run(epoch, own.host, own.pid, own.boot, Date.now(), id);
    });
    return this.#log(id, epoch, loaded.head, loaded.rows.length, loaded.rows);
  }

  #log(id: string, epoch: number, head: string, count: number, rows: readonly Row[]): SqliteLog {
    const row = this.#row(id);
    if (row === undefined) throw unknownRun(id);
    const run = { ...this.#summary(row), rows };
    const onEnd = (ended: SqliteLog) => this.#logs.delete(ended);
    const place = { database: this.#open, file: this.#file, key: this.#key, onEnd };
    const log = new SqliteLog({ ...place, run, epoch, head, count });
    this.#logs.add(log);
    return log;
  }

  async read(id: string): Promise<StoredRun | undefined> {
    return this.#typed(() => {
      const row = this.#row(id);
      if (row === undefined) return undefined;
      const loaded = this.#rows(id);
      // A resume reads a run and opens it in the same turn of the event loop.
      this.#read = { id, ...loaded };
      setImmediate(() => {
        this.#read = undefined;
      });
      return { ...this.#summary(row), rows: loaded.rows, result: loadValue(this.#open, row.result) };
    });
  }

  async list(): Promise<readonly RunSummary[]> {
    return this.#typed(() => {
      const rows = this.#open.prepare('SELECT * FROM runs ORDER BY created').all() as unknown as RunRow[];
      return rows.map((row) => this.#summary(row));
    });
  }

  async signal(run: string, signal: Signal): Promise<boolean> {
    let isFirst = false;
    this.#transaction((database) => {
      if (this.#row(run) === undefined) throw unknownRun(run);
      const answered = "SELECT 1 FROM records WHERE run = ? AND key = ? AND kind = 'wait' AND event = 'done'";
      if (signal.kind === 'decision' && database.prepare(answered).get(run, signal.id) !== undefined) return;
      const insert = database.prepare('INSERT OR IGNORE INTO signals VALUES (?, ?, ?, ?)');
      isFirst = insert.run(run, signal.id, JSON.stringify(signal), Date.now()).changes === 1;
    });
    return isFirst;
  }

  async prune(before: number): Promise<readonly string[]> {
    const ids: string[] = [];
    this.#transaction((database) => {
      const ended = database
        .prepare("SELECT id FROM runs WHERE updated < ? AND status NOT IN ('running', 'suspended')")
        .all(before);
      for (const { id } of ended as { id: string }[]) {
        for (const table of ['records', 'signals']) database.prepare(`DELETE FROM ${table} WHERE run = ?`).run(id);
        database.prepare('DELETE FROM runs WHERE id = ?').run(id);
        ids.push(id);
      }
      if (ids.length > 0) sweepBlobs(database);
    });
    return ids;
  }

  close(): void {
    for (const log of [...this.#logs]) log.closeWithStore();
    this.#database?.close();
    this.#database = undefined;
  }

  #row(id: string): RunRow | undefined {
    return this.#open.prepare('SELECT * FROM runs WHERE id = ?').get(id) as RunRow | undefined;
  }

  /** The records of a run, their chain checked against the run's head and count. */
  #rows(id: string): { rows: Row[]; head: string } {
    const select = this.#open.prepare('SELECT * FROM records WHERE run = ? ORDER BY record');
    select.setReadBigInts(true);
    let head = GENESIS;
    const rows: Row[] = [];
    for (const columns of select.iterate(id)) {
      const hashed = hashedRow(columns);
      head = chainHash(id, head, hashed, this.#key);
      if (head !== columns.hash) throw changed(id, `record ${hashed.record} (${hashed.key})`);
      rows.push({
        ...hashed,
        request: loadValue(this.#open, hashed.request),
        value: loadValue(this.#open, hashed.value),
      });
    }
    const row = this.#row(id);
    if (row !== undefined && (row.head !== head || row.count !== rows.length))
      throw changed(id, 'the end of its records');
    return { rows, head };
  }

  #summary(row: RunRow): RunSummary {
    return {
      id: row.id,
      agent: row.agent,
      status: row.status,
      epoch: row.epoch,
      created: row.created,
      updated: row.updated,
      records: row.count,
      ...(row.forked_from !== null && { forkedFrom: row.forked_from }),
      ...(row.host !== null && row.pid !== null && { owner: { host: row.host, pid: row.pid } }),
      pending: JSON.parse(row.pending) as Json[],
    };
  }

  #transaction(work: (database: DatabaseSync) => void): void {
    this.#typed(() => {
      const database = this.#open;
      database.exec('BEGIN IMMEDIATE');
      try {
        work(database);
        database.exec('COMMIT');
      } catch (thrown) {
        rollback(database);
        throw thrown;
      }
    });
  }

  /** SQLite's own errors, with what to do. */
  #typed<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      if (isA(thrown, CoxswainError)) throw thrown;
      throw new JournalError(`${this.#file}: ${mendOf(messageOf(thrown))}`, { cause: thrown });
    }
  }
}

function isOwned({ host, pid, boot, heartbeat }: RunRow): boolean {
  return host !== null && pid !== null && isAlive({ host, pid, boot: boot ?? '' }, heartbeat ?? 0, Date.now());
}

function hashedRow(columns: Record<string, unknown>) {
  return {
    record: Number(columns.record),
    key: String(columns.key),
    kind: String(columns.kind) as Row['kind'],
    event: String(columns.event) as Row['event'],
    attempt: Number(columns.attempt),
    epoch: Number(columns.epoch),
    time: columns.time as bigint,
    step: Number(columns.step),
    traceId: String(columns.trace),
    spanId: String(columns.span),
    request: columns.request as string | null,
    value: columns.value as string | null,
  };
}

function unknownRun(id: string): ConfigurationError {
  return new ConfigurationError(
    'runId',
    `there is no run ${JSON.stringify(id)} in this journal`,
    'List them with cox runs.',
  );
}

function changed(id: string, where: string): JournalError {
  return new JournalError(
    `run ${id}: ${where} was changed or is missing (hash chain). It cannot be resumed truly: put a whole copy of the file back, or start a new run.`,
  );
}
