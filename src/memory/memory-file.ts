import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ConfigurationError } from '../core/errors.ts';

/** "cxme": marks a file as one of ours. */
const APPLICATION_ID = 0x63786d65;
const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE namespaces (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, namespace INTEGER NOT NULL REFERENCES namespaces,
    text TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT, label TEXT NOT NULL, version INTEGER NOT NULL,
    terms INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL
  );
  CREATE INDEX entries_by_namespace ON entries (namespace);
  CREATE TABLE facets (
    key TEXT NOT NULL, value TEXT NOT NULL, entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    PRIMARY KEY (key, value, entry)
  ) WITHOUT ROWID;
  CREATE INDEX facets_by_entry ON facets (entry);
  CREATE TABLE vectors (
    entry INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, namespace INTEGER NOT NULL,
    embedder TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL
  );
  CREATE INDEX vectors_by_segment ON vectors (namespace, embedder, dimensions);
  CREATE VIRTUAL TABLE lexical USING fts5 (body, tokenize = "ascii tokenchars '_'");
  INSERT INTO lexical (lexical, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE postings USING fts5vocab (lexical, instance);
  CREATE VIRTUAL TABLE frequencies USING fts5vocab (lexical, row);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** One open memory file: statements are prepared once, writes are transactions. */
export interface MemoryFile {
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
  iterate<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined;
  run(sql: string, ...values: SQLInputValue[]): void;
  /** All of `work` or nothing. */
  transaction<T>(work: () => T): T;
  /** Empties the write-ahead log, so that what was removed is in no file; best effort while others read. */
  purge(): void;
  close(): void;
}

/** Opens or creates a memory file. SQLite is loaded here, so that importing costs nothing. */
export async function openMemoryFile(file: string): Promise<MemoryFile> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = connect(() => new DatabaseSync(file, { timeout: 5_000 }), file);
  try {
    prepareSchema(database, file);
  } catch (thrown) {
    database.close();
    throw thrown;
  }
  const statements = new Map<string, StatementSync>();
  const statement = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = database.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  };
  // Rows have the columns that the statement names: the schema above is the parse.
  return {
    all: <Row>(sql: string, ...values: SQLInputValue[]) => statement(sql).all(...values) as Row[],
    iterate: <Row>(sql: string, ...values: SQLInputValue[]) => statement(sql).iterate(...values) as Iterable<Row>,
    get: <Row>(sql: string, ...values: SQLInputValue[]) => statement(sql).get(...values) as Row | undefined,
    run: (sql, ...values) => {
      statement(sql).run(...values);
    },
    transaction: (work) => transaction(database, work),
    purge: () => {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    },
    close: () => database.close(),
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
  const shown = JSON.stringify(file);
  let empty: boolean;
  try {
    empty = number('SELECT count(*) FROM sqlite_schema') === 0;
  } catch {
    throw new ConfigurationError('file', `${shown} is no SQLite file`, 'Name another file.');
  }
  const check = () => {
    if (number('PRAGMA application_id') !== APPLICATION_ID) {
      throw new ConfigurationError('file', `${shown} belongs to another program`, 'Name another file.');
    }
    const version = number('PRAGMA user_version');
    if (version !== SCHEMA_VERSION) {
      const problem = `${shown} has schema ${version}, this coxswain knows ${SCHEMA_VERSION}`;
      throw new ConfigurationError('file', problem, 'Use the coxswain that wrote it, or a later one.');
    }
  };
  // Before anything is set: a foreign file stays as it is.
  if (!empty) check();
  database.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON');
  if (!empty) return;
  transaction(database, () => {
    // Another process may have been first.
    if (number('SELECT count(*) FROM sqlite_schema') === 0) database.exec(SCHEMA);
    else check();
  });
}

function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const value = work();
    database.exec('COMMIT');
    return value;
  } catch (thrown) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw thrown;
  }
}
