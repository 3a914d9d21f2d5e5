import { existsSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, JournalError, messageOf } from '../../core/errors.ts';

/** "coxs": tells our files from others (https://sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x636f7873;
const VERSION = 1;

const SCHEMA = `
CREATE TABLE runs (
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, status TEXT NOT NULL, epoch INTEGER NOT NULL,
  host TEXT, pid INTEGER, boot TEXT, heartbeat INTEGER, head TEXT NOT NULL, count INTEGER NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, forked_from TEXT, result TEXT, pending TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE TABLE records (
  run TEXT NOT NULL, record INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, event TEXT NOT NULL,
  attempt INTEGER NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL, step INTEGER NOT NULL,
  trace TEXT NOT NULL, span TEXT NOT NULL, request TEXT, value TEXT, hash TEXT NOT NULL,
  PRIMARY KEY (run, record), UNIQUE (run, key, event, attempt)
) WITHOUT ROWID;
CREATE TABLE blobs (hash TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE signals (
  run TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (run, id)
) WITHOUT ROWID;`;

/** Opens the file, makes its tables where it is new, and refuses what is not ours, newer or damaged. */
export function openDatabase(file: string): DatabaseSync {
  checkFile(file);
  const { DatabaseSync } = loadSqlite();
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(file, { timeout: 5_000 });
  } catch (cause) {
    throw new JournalError(`${file}: cannot be opened (${messageOf(cause)}). Check that it is a file you may write.`, {
      cause,
    });
  }
  try {
    migrate(database, file);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    return database;
  } catch (cause) {
    database.close();
    if (cause instanceof JournalError) throw cause;
    throw new JournalError(`${file}: ${mendOf(messageOf(cause))}`, { cause });
  }
}

function migrate(database: DatabaseSync, file: string): void {
  const isOurs = pragma(database, 'application_id') === APPLICATION_ID;
  const version = pragma(database, 'user_version');
  if (isOurs && version === VERSION) return;
  if (isOurs && version > VERSION) {
    throw new JournalError(
      `${file}: written by a newer coxswain (schema ${version}, this one knows ${VERSION}). Update coxswain, or use another file.`,
    );
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have made it in the meantime.
    if (pragma(database, 'application_id') !== APPLICATION_ID) {
      const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_master').get() as { tables: number };
      if (tables > 0) throw new JournalError(`${file}: is another program's SQLite database. Use another file.`);
      database.exec(`${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION};`);
    }
    database.exec('COMMIT');
  } catch (thrown) {
    rollback(database);
    throw thrown;
  }
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** Changes whenever another connection has committed (https://sqlite.org/pragma.html#pragma_data_version). */
export function dataVersion(database: DatabaseSync): () => number {
  const statement = database.prepare('PRAGMA data_version');
  return () => Number(statement.get()?.data_version);
}

function checkFile(file: string): void {
  if (typeof file !== 'string' || file === '') {
    throw new ConfigurationError('sqlite.file', 'expected a path', "Name the file: sqlite('runs.db').");
  }
  if (file === ':memory:') return;
  if (!existsSync(dirname(file))) throw new JournalError(`${file}: its folder does not exist. Make it first.`);
  const facts = lstatSync(file, { throwIfNoEntry: false });
  if (facts?.isSymbolicLink()) throw new JournalError(`${file}: is a link. Name the file itself.`);
  if (facts !== undefined && !facts.isFile()) throw new JournalError(`${file}: is no file. Name a file.`);
}

function loadSqlite(): typeof import('node:sqlite') {
  const sqlite = process.getBuiltinModule('node:sqlite');
  if (sqlite === undefined)
    throw new ConfigurationError('journal', 'this Node has no node:sqlite', 'Use Node 22.16 or newer.');
  return sqlite;
}

/** Ends a transaction that failed; where the disk is full SQLite has done so by itself. */
export function rollback(database: DatabaseSync): void {
  if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
}

/** SQLite's words, with what to do. */
export function mendOf(message: string): string {
  if (/not a database|malformed/.test(message))
    return `is damaged or no SQLite database (${message}). Put a whole copy back, or use another file.`;
  if (/readonly/.test(message)) return `may not be written (${message}). Check its permissions and its folder's.`;
  if (/locked|busy/.test(message)) return `is locked by another process (${message}). Try again when that has ended.`;
  if (/full|disk I\/O/.test(message))
    return `could not be written (${message}). Free some disk space and resume the run.`;
  return message;
}
