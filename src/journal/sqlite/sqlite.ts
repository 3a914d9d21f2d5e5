import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, FencedError } from '../../core/values/errors.ts';
import { checkOptions } from '../../core/values/options.ts';
import { checkTime, prunable } from '../prunable.ts';
import type { OpenOptions, RecordStore, RunLog, RunSummary, Signal, StoredRun } from '../record-store.ts';
import type { Row } from '../row.ts';
import { CHAIN, GENESIS } from './chain.ts';
import { CommitGroup } from './commit-group.ts';
import { inPlace, openDatabase } from './database.ts';
import { thisProcess } from './owner.ts';
import { type ReadRecords, readRecords } from './read-records.ts';
import { isOwned, type RunRow, runRow, runRows, summaryOf } from './run-row.ts';
import { storedSignal } from './signal-watch.ts';
import { SqliteLog } from './sqlite-log.ts';
import { Statements } from './statements.ts';
import { asJournalError, snapshot, transaction } from './transaction.ts';
import { loadValue, sweepBlobs } from './values.ts';

export interface SqliteOptions {
  /** Keys the hash chain (HMAC-SHA-256): a change of the records without the key is detected. Default: none; then only accidental changes are. */
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

class SqliteStore implements RecordStore {
  readonly #file: string;
  readonly #key: string | undefined;
  #database: DatabaseSync | undefined;
  #statements: Statements | undefined;
  #commits: CommitGroup | undefined;
  #isInPlace = () => true;
  /** The run that was read just now. */
  #read: (ReadRecords & { readonly id: string }) | undefined;
  /** Of the runs under way. */
  readonly #logs = new Set<SqliteLog>();
  /** Runs, with their epoch, that this process gave up while the file could not be written: the file still names it as their owner. */
  readonly #givenUp = new Set<string>();

  constructor(file: string, key: string | undefined) {
    this.#file = file;
    this.#key = key;
  }

  get #open(): DatabaseSync {
    if (this.#database !== undefined && !this.#isInPlace()) this.#detach();
    if (this.#database === undefined) {
      this.#database = openDatabase(this.#file);
      this.#isInPlace = inPlace(this.#file);
    }
    return this.#database;
  }

  #prepared(database: DatabaseSync): Statements {
    this.#statements ??= new Statements(database);
    return this.#statements;
  }

  /** The file was removed or replaced: runs under way fail, since what they wrote is lost; the next ones use the file that is there now. */
  #detach(): void {
    for (const log of [...this.#logs]) log.lose();
    this.#database?.close();
    this.#database = undefined;
    this.#statements = undefined;
    this.#commits = undefined;
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
    let taken: RunRow | undefined;
    // What a fork begins with was written in other epochs: its own comes after them.
    const epoch = rows.reduce((highest, row) => Math.max(highest, row.epoch), 0) + 1;
    this.#transaction((database) => {
      const there = runRow(database, run.id);
      // One that died before its first record has never begun.
      if (there !== undefined && there.count === 0 && !this.#isOwned(there)) {
        database.prepare('DELETE FROM runs WHERE id = ?').run(run.id);
      } else if (there !== undefined) {
        throw new ConfigurationError(
          'runId',
          `the run ${run.id} exists`,
          'Resume it with resumeRun, or choose another id.',
        );
      }
      database
        .prepare(
          `INSERT INTO runs (id, agent, status, epoch, host, pid, boot, heartbeat, head, count, chain, created, updated, forked_from)
           VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
        )
        .run(run.id, run.agent, epoch, host, pid, boot, now, GENESIS, CHAIN, now, now, run.forkedFrom ?? null);
      taken = runRow(database, run.id);
    });
    const log = this.#typed(() => this.#log(existing(taken, run.id), { rows: [], head: GENESIS }, rows));
    for (const row of rows) log.append(row);
    await log.commit();
    return log;
  }

  async open(id: string, { takeover = false, epoch: seen }: OpenOptions = {}): Promise<RunLog> {
    let loaded: ReadRecords = { rows: [], head: GENESIS };
    let taken: RunRow | undefined;
    this.#transaction((database) => {
      const row = runRow(database, id);
      if (row === undefined) throw unknownRun(id);
      if (!takeover && this.#isOwned(row)) {
        throw new FencedError(
          `run ${id} is under way in process ${row.pid} on ${row.host}. Wait for it, or resume with takeover: true.`,
        );
      }
      if (seen !== undefined && seen !== row.epoch)
        throw new FencedError(`run ${id} was taken over by another process in the meantime. Resume it again.`);
      // Before it is taken: one that is damaged stays as it is.
      const read = this.#read;
      const isRead = read?.id === id && read.head === row.head && read.rows.length === row.count;
      loaded = isRead ? read : readRecords(database, row, this.#key);
      const own = thisProcess();
      database
        .prepare(
          "UPDATE runs SET epoch = ?, host = ?, pid = ?, boot = ?, heartbeat = ?, status = 'running' WHERE run = ?",
        )
        .run(row.epoch + 1, own.host, own.pid, own.boot, Date.now(), row.run);
      taken = runRow(database, id);
    });
    return this.#typed(() => this.#log(existing(taken, id), loaded));
  }

  /** `rows` is what a new run begins with. */
  #log(row: RunRow, { rows, head }: ReadRecords, begins: readonly Row[] = rows): SqliteLog {
    const { id } = row;
    const database = this.#open;
    this.#commits ??= new CommitGroup(database, this.#isInPlace);
    const log = new SqliteLog({
      database,
      statements: this.#prepared(database),
      file: this.#file,
      run: { ...summaryOf(row), rows: begins },
      number: row.run,
      chain: { form: row.chain, run: id, key: this.#key },
      epoch: row.epoch,
      head,
      count: rows.length,
      isInPlace: this.#isInPlace,
      commits: this.#commits,
      onEnd: (ended) => {
        this.#logs.delete(ended);
        if (ended.isStuck) this.#givenUp.add(`${id} ${row.epoch}`);
      },
    });
    this.#logs.add(log);
    return log;
  }

  #isOwned(row: RunRow): boolean {
    return isOwned(row) && !this.#givenUp.has(`${row.id} ${row.epoch}`);
  }

  async read(id: string): Promise<StoredRun | undefined> {
    return this.#typed(() => snapshot(this.#open, () => this.#stored(this.#open, id)));
  }

  #stored(database: DatabaseSync, id: string): StoredRun | undefined {
    const row = runRow(database, id);
    if (row === undefined) return undefined;
    const loaded = readRecords(database, row, this.#key);
    // A resume reads a run and opens it in the same turn of the event loop.
    this.#read = { id, ...loaded };
    setImmediate(() => {
      this.#read = undefined;
    });
    const result = loadValue(database, row.result);
    return { ...summaryOf(row), rows: loaded.rows, result, answered: answeredIn(database, id) };
  }

  async list(): Promise<readonly RunSummary[]> {
    return this.#typed(() => runRows(this.#open).map(summaryOf));
  }

  async signal(run: string, signal: Signal): Promise<boolean> {
    let isFirst = false;
    this.#transaction((database) => {
      const row = runRow(database, run);
      if (row === undefined) throw unknownRun(run);
      const answered = "SELECT 1 FROM records WHERE run = ? AND key = ? AND kind = 'wait' AND event = 'done'";
      if (signal.kind === 'decision' && database.prepare(answered).get(row.run, signal.id) !== undefined) return;
      const insert = database.prepare('INSERT OR IGNORE INTO signals VALUES (?, ?, ?, ?)');
      const now = Date.now();
      isFirst = insert.run(run, signal.id, storedSignal(run, signal, now, this.#key), now).changes === 1;
    });
    for (const log of this.#logs) if (isFirst && log.run.id === run) log.hear();
    return isFirst;
  }

  async prune(before: number): Promise<readonly string[]> {
    checkTime(before);
    const ids: string[] = [];
    this.#transaction((database) => {
      const runs = runRows(database);
      const over = new Set(prunable(runs.map(summaryOf), before));
      for (const { run, id } of runs) {
        if (!over.has(id)) continue;
        database.prepare('DELETE FROM records WHERE run = ?').run(run);
        database.prepare('DELETE FROM signals WHERE run = ?').run(id);
        database.prepare('DELETE FROM runs WHERE run = ?').run(run);
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
    this.#statements = undefined;
    this.#commits = undefined;
  }

  #transaction(work: (database: DatabaseSync) => void): void {
    this.#typed(() => transaction(this.#open, () => work(this.#open)));
  }

  /** SQLite's own errors, with what to do. */
  #typed<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw asJournalError(this.#file, thrown);
    }
  }
}

/** The requests of a run that were answered. */
function answeredIn(database: DatabaseSync, id: string): readonly string[] {
  const decisions =
    "SELECT id FROM signals WHERE run = ? AND json_valid(value) AND value ->> 'kind' = 'decision' ORDER BY created";
  return database
    .prepare(decisions)
    .all(id)
    .map((signal) => String(signal.id));
}

function existing(row: RunRow | undefined, id: string): RunRow {
  if (row === undefined) throw unknownRun(id);
  return row;
}

function unknownRun(id: string): ConfigurationError {
  return new ConfigurationError(
    'runId',
    `there is no run ${JSON.stringify(id)} in this journal`,
    'List them with cox runs.',
  );
}
