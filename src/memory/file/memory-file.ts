import { statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ConfigurationError } from '../../core/values/errors.ts';
import { privateFile } from '../../core/values/private-file.ts';
import { APPLICATION_ID, createSchema, migrate, SCHEMA_VERSION } from './schema.ts';

/** One open memory file: statements are prepared once, writes are transactions. */
export interface MemoryFile {
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
  iterate<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined;
  /** What `SELECT json_group_array(…) AS list` gives: many numbers at the price of one row. */
  numbers(sql: string, ...values: SQLInputValue[]): number[];
  run(sql: string, ...values: SQLInputValue[]): void;
  /** All of `work` or nothing. Inside of another transaction it is part of that one. */
  transaction<T>(work: () => T): T;
  /** All that `work` reads is of one moment. */
  snapshot<T>(work: () => T): T;
  /** Empties the write-ahead log, so that what was removed is in no file. While others read, each later write tries again. */
  purge(): void;
  /** Rewrites the file without what is free in it. */
  vacuum(): void;
  close(): void;
}

/** How long one waits for another process's reads before the log can be emptied; in milliseconds. */
const READ_MS = 200;

/** Opens or creates a memory file, by its full path. SQLite is loaded here, so that importing costs nothing. */
export async function openMemoryFile(file: string): Promise<MemoryFile> {
  const { DatabaseSync } = await import('node:sqlite');
  if (!privateFile(file))
    throw new ConfigurationError(
      'file',
      `${JSON.stringify(file)} or a file beside it is a link`,
      'Name the file itself.',
    );
  const database = connect(() => new DatabaseSync(file, { timeout: WRITE_MS }), file);
  try {
    prepareSchema(database, file);
  } catch (thrown) {
    database.close();
    throw fileFailure(thrown, file);
  }
  const statements = new Map<string, StatementSync>();
  const statement = (sql: string): StatementSync => {
    const cached = statements.get(sql);
    if (cached !== undefined) return cached;
    const prepared = database.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  };
  const check = presence(file);
  const translated = <T>(work: () => T): T => {
    try {
      return work();
    } catch (thrown) {
      throw fileFailure(thrown, file);
    }
  };
  let isPurged = true;
  const purge = (waitMs: number) => {
    isPurged = purgeLog(database, waitMs);
  };
  const written = <T>(value: T): T => {
    try {
      if (!isPurged) purge(0);
    } catch {
      // What was written is written; the next write tries again.
    }
    return value;
  };
  // Rows have the columns that the statement names: the schema is the parse.
  return {
    all: <Row>(sql: string, ...values: SQLInputValue[]) => translated(() => statement(sql).all(...values) as Row[]),
    iterate: <Row>(sql: string, ...values: SQLInputValue[]) =>
      translated(() => statement(sql).iterate(...values) as Iterable<Row>),
    get: <Row>(sql: string, ...values: SQLInputValue[]) =>
      translated(() => statement(sql).get(...values) as Row | undefined),
    numbers: (sql, ...values) =>
      JSON.parse(String(translated(() => statement(sql).get(...values))?.list ?? '[]')) as number[],
    run: (sql, ...values) => {
      translated(() => statement(sql).run(...values));
    },
    transaction: (work) => {
      check();
      return database.isTransaction ? work() : written(translated(() => within(database, 'BEGIN IMMEDIATE', work)));
    },
    snapshot: (work) => {
      check();
      return database.isTransaction ? work() : translated(() => within(database, 'BEGIN', work));
    },
    purge: () => translated(() => purge(READ_MS)),
    vacuum: () => {
      translated(() =>
        database.exec("INSERT INTO lexical (lexical) VALUES ('optimize'); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"),
      );
    },
    close: () => database.close(),
  };
}

/** Writes to a deleted file are lost without an error, since SQLite keeps it open. */
function presence(file: string): () => void {
  if (file === ':memory:') return () => {};
  const opened = statSync(file, { throwIfNoEntry: false })?.ino;
  return () => {
    if (opened !== undefined && statSync(file, { throwIfNoEntry: false })?.ino === opened) return;
    const problem = `${JSON.stringify(file)} was deleted or replaced while in use`;
    throw new ConfigurationError('file', problem, 'Put it back, or close this memory and open another.');
  };
}

function connect(open: () => DatabaseSync, file: string): DatabaseSync {
  try {
    return open();
  } catch {
    throw new ConfigurationError('file', `${JSON.stringify(file)} cannot be opened`, 'Its folder must exist.');
  }
}

function prepareSchema(database: DatabaseSync, file: string): void {
  const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  const quoted = JSON.stringify(file);
  const isEmpty = () => number('SELECT count(*) FROM sqlite_schema') === 0;
  const versionOf = (): number => {
    if (number('PRAGMA application_id') !== APPLICATION_ID) {
      throw new ConfigurationError('file', `${quoted} belongs to another program`, 'Name another file.');
    }
    const version = number('PRAGMA user_version');
    if (version >= 1 && version <= SCHEMA_VERSION) return version;
    const problem = `${quoted} has schema ${version}, this coxswain knows ${SCHEMA_VERSION}`;
    throw new ConfigurationError('file', problem, 'Use the coxswain that wrote it, or a later one.');
  };
  // Before anything is set: a foreign file stays as it is.
  const isNew = isEmpty();
  const version = isNew ? 0 : versionOf();
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON',
  );
  if (version === SCHEMA_VERSION) return;
  within(database, 'BEGIN IMMEDIATE', () => {
    // Another process may have been first.
    if (isEmpty()) createSchema(database);
    else if (versionOf() < SCHEMA_VERSION) migrate(database, versionOf());
  });
}

function within<T>(database: DatabaseSync, begin: string, work: () => T): T {
  database.exec(begin);
  try {
    const value = work();
    database.exec('COMMIT');
    return value;
  } catch (thrown) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw thrown;
  }
}

/** SQLite's result codes that a user can act on (https://sqlite.org/rescode.html). */
const FAILURES: { readonly [code: number]: readonly [problem: string, mend: string] } = {
  5: ['is locked by another process', 'Try again later.'],
  6: ['is locked', 'Try again later.'],
  8: ['cannot be written', 'Give this process the right to write it and its folder.'],
  10: ['cannot be read or written', 'Check its disk.'],
  11: ['is torn', 'Put a copy in its place, or name another file.'],
  13: ['does not fit on its disk any more', 'Make room.'],
  14: ['cannot be opened', 'Its folder must exist.'],
  26: ['is no SQLite file, or torn', 'Name another file.'],
};

/** An error of SQLite as one that names the file and the mend; any other error unchanged. */
export function fileFailure(thrown: unknown, file: string): unknown {
  const { errcode } = (thrown ?? {}) as { readonly errcode?: unknown };
  // Extended codes have the plain one in their lowest byte.
  const failure = typeof errcode === 'number' ? FAILURES[errcode & 0xff] : undefined;
  return failure === undefined
    ? thrown
    : new ConfigurationError('file', `${JSON.stringify(file)} ${failure[0]}`, failure[1]);
}

/** How long one waits for another process's write; in milliseconds. */
export const WRITE_MS = 5_000;

/**
 * Empties the write-ahead log, so that removed texts are in no file. False if a reader still uses the old state after this many
 * milliseconds.
 */
export function purgeLog(database: DatabaseSync, waitMs: number): boolean {
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${WRITE_MS}`);
  }
}
