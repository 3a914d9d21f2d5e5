import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { FencedError, JournalError } from '../../core/values/errors.ts';
import type { FreshRow, RunLog, StoredRun, TimedSignal } from '../record-store.ts';
import { type Chain, chainHash } from './chain.ts';
import type { CommitGroup, Committer } from './commit-group.ts';
import { RequestParts } from './request-parts.ts';
import { SignalWatch } from './signal-watch.ts';
import { COLUMNS, type Statements } from './statements.ts';
import { asJournalError, BUSY_MS, transaction } from './transaction.ts';
import { type Blob, blobOf, LARGE, storeBlob, storeValue } from './values.ts';

/** Rows that are committed at once. */
const BATCH = 256;
const HEARTBEAT_MS = 5_000;

/** The log of one run in an SQLite file: buffers rows and commits them with those of other runs, as long as it is the run's owner. */
export class SqliteLog implements RunLog, Committer {
  readonly run: StoredRun;
  readonly epoch: number;
  onCommit: (() => void) | undefined;
  onFailure: ((error: Error) => void) | undefined;
  onSignal: (() => void) | undefined;
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #number: number;
  readonly #chain: Chain;
  readonly #statements: Statements;
  readonly #watch: SignalWatch;
  readonly #parts = new RequestParts();
  readonly #isInPlace: () => boolean;
  readonly #commits: CommitGroup;
  readonly #onEnd: () => void;
  /** Of every record: one address is written once. */
  readonly #addresses: Set<string>;
  /** Of what is committed. */
  #count: number;
  /** The hash of the newest row, committed or not. */
  #tail: string;
  /** The columns of rows that wait for their commit, one after another, and the blobs that they refer to. */
  #buffer: SQLInputValue[] = [];
  #blobs: Blob[] = [];
  /** Why the next commit fails. */
  #refused: JournalError | undefined;
  /** Resolves or rejects with the next commit. */
  #next: PromiseWithResolvers<void> | undefined;
  /** How the run ends, once it does: written with the next commit. */
  #end: { readonly status: string; readonly result: unknown; readonly pending: readonly unknown[] } | undefined;
  #isOver = false;
  #failure: Error | undefined;
  /** True where the file still names this process as the owner, though the run was given up. */
  isStuck = false;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(of: {
    database: DatabaseSync;
    statements: Statements;
    file: string;
    run: StoredRun;
    /** Its number within the file. */
    number: number;
    chain: Chain;
    epoch: number;
    head: string;
    count: number;
    /** False once the file was removed or replaced. */
    isInPlace: () => boolean;
    commits: CommitGroup;
    /** Called when it writes no more. */
    onEnd: (log: SqliteLog) => void;
  }) {
    this.#database = of.database;
    this.#file = of.file;
    this.run = of.run;
    this.epoch = of.epoch;
    this.#number = of.number;
    this.#chain = of.chain;
    this.#tail = of.head;
    this.#count = of.count;
    this.#isInPlace = of.isInPlace;
    this.#commits = of.commits;
    this.#onEnd = () => of.onEnd(this);
    this.#addresses = new Set(of.count === 0 ? [] : of.run.rows.map(addressOf));
    this.#statements = of.statements;
    this.#watch = new SignalWatch({
      database: this.#database,
      statements: this.#statements,
      run: this.run.id,
      key: of.chain.key,
      onSignal: () => this.onSignal?.(),
      onFailure: (thrown) => this.#fail(asJournalError(this.#file, thrown)),
    });
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  append(row: FreshRow): void {
    if (this.#failure !== undefined) return;
    const request = this.#text(this.#parts.shorten(row));
    const value = this.#text(row.value);
    const { size } = this.#addresses;
    const address = addressOf(row);
    if (this.#addresses.add(address).size === size)
      this.#refused = new JournalError(`run ${this.run.id}: a second record of ${address}, and each is unique`);
    this.#tail = chainHash(this.#chain, this.#tail, row, request, value);
    const { record, key, kind, event, attempt, epoch, time, step, traceId, spanId } = row;
    this.#buffer.push(this.#number, record, key, kind, event, attempt, epoch, time, step);
    const filled = this.#buffer.push(bytesOf(traceId), bytesOf(spanId), request, value, this.#tail);
    if (filled >= BATCH * COLUMNS) this.#commits.flush(this);
    else this.#commits.add(this);
  }

  /** JSON, as it is now; a long one goes to a blob of its own. */
  #text(value: unknown): string | null {
    if (value === undefined) return null;
    const text = JSON.stringify(value) ?? null;
    if (text === null || text.length <= LARGE) return text;
    const blob = blobOf(text);
    this.#blobs.push(blob);
    return blob.address;
  }

  commit(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#buffer.length === 0) return Promise.resolve();
    return this.#committed();
  }

  #committed(): Promise<void> {
    this.#next ??= Promise.withResolvers<void>();
    return this.#next.promise;
  }

  write(): void {
    if (this.#failure !== undefined) return;
    if (this.#refused !== undefined) throw this.#refused;
    const columns = this.#buffer;
    const blobs = this.#blobs;
    this.#buffer = [];
    this.#blobs = [];
    // First: the error of a fenced owner is that, not a duplicate record.
    this.#own(this.#tail, this.#count + columns.length / COLUMNS);
    this.#watch.look();
    for (const blob of blobs) storeBlob(this.#database, blob);
    this.#statements.insert(columns);
    this.#count += columns.length / COLUMNS;
    if (this.#end !== undefined) this.#writeEnd(this.#end);
  }

  committed(failure: { readonly thrown: unknown } | undefined): void {
    if (failure !== undefined) this.#fail(asJournalError(this.#file, failure.thrown));
    const next = this.#next;
    this.#next = undefined;
    if (this.#failure !== undefined) {
      next?.reject(this.#failure);
      return;
    }
    next?.resolve();
    this.onCommit?.();
    if (this.#failure === undefined && !this.#isOver) this.#watch.tell();
  }

  /** Fails where another owner has come: its epoch is higher. */
  #own(head: string, count: number): void {
    const run = { number: this.#number, id: this.run.id, epoch: this.epoch };
    if (!this.#statements.advance(run, head, count))
      throw new FencedError(`run ${run.id}: another process has taken it over; this one does nothing more`);
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    clearInterval(this.#heartbeat);
    this.#watch.close();
    this.#release();
    this.onFailure?.(error);
    this.#onEnd();
  }

  /** Its store is closed under it: what was appended is kept, the run fails. */
  closeWithStore(): void {
    if (this.#isOver || this.#failure !== undefined) return;
    this.#commits.flush(this);
    this.#fail(new JournalError(`${this.#file}: was closed while run ${this.run.id} was under way. Resume the run.`));
  }

  /** Its file is not there any more. */
  lose(): void {
    const what = `was removed or replaced while run ${this.run.id} was under way, and what it wrote since is lost`;
    const mend = 'Put the file back and resume the run, or start it anew.';
    this.committed({ thrown: new JournalError(`${this.#file}: ${what}. ${mend}`) });
  }

  /** A commit without records: it says that this owner is alive. */
  #beat(): void {
    if (this.#failure === undefined && !this.#isOver) this.#commits.add(this);
  }

  /** A signal came through its own connection, whose writes the watch does not see. */
  hear(): void {
    if (!this.#isOver && this.#failure === undefined) this.#watch.hear();
  }

  signals(): readonly TimedSignal[] {
    return this.#watch.signals();
  }

  watch(): () => void {
    return this.#watch.watch();
  }

  async close(status: string, result: unknown, pending: readonly unknown[]): Promise<void> {
    await this.commit();
    this.#watch.close();
    clearInterval(this.#heartbeat);
    if (this.#failure !== undefined) throw this.#failure;
    this.#end = { status, result, pending };
    this.#commits.add(this);
    await this.#committed();
    this.#isOver = true;
    this.#onEnd();
  }

  #writeEnd({ status, result, pending }: { status: string; result: unknown; pending: readonly unknown[] }): void {
    const { id } = this.run;
    const text = storeValue(this.#database, result);
    const owner = [this.#number, id, this.epoch];
    if (!this.#statements.end([status, text, JSON.stringify(pending), Date.now(), ...owner]))
      throw new FencedError(`run ${id}: another process has taken it over`);
  }

  abandon(): void {
    if (this.#failure !== undefined || this.#isOver) return;
    this.#commits.flush(this);
    this.#isOver = true;
    this.onFailure = undefined;
    this.#fail(new JournalError(`run ${this.run.id}: its journal is closed`));
  }

  /** Gives up ownership, so that another process may continue the run. Does not wait: where the file is locked it stays the owner. */
  #release(): void {
    if (!this.#database.isOpen || !this.#isInPlace()) return;
    const release =
      'UPDATE runs SET host = NULL, pid = NULL, boot = NULL, heartbeat = NULL WHERE run = ? AND epoch = ?';
    try {
      this.#database.exec('PRAGMA busy_timeout = 0');
      transaction(this.#database, () => this.#database.prepare(release).run(this.#number, this.epoch));
    } catch {
      this.isStuck = true;
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }
}

/** Unique within a run. */
function addressOf({ key, event, attempt }: Pick<FreshRow, 'key' | 'event' | 'attempt'>): string {
  return `${event} ${attempt} ${key}`;
}

function bytesOf(digits: string | undefined): Buffer | null {
  return digits === undefined ? null : Buffer.from(digits, 'hex');
}
