import { existsSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, JournalError, messageOf } from '../../core/values/errors.ts';
import { privateFile } from '../../core/values/private-file.ts';
import { checkSchema } from './check-schema.ts';
import { isOwned, type RunRow } from './run-row.ts';
import { MIGRATIONS, SCHEMA, VERSION } from './schema.ts';
import { asJournalError, BUSY_MS, transaction } from './transaction.ts';

/** "coxs": tells our files from others (https://sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x636f7873;

/** Opens the file, makes its tables where it is new, brings an older one up to date, and refuses what is not ours, newer or damaged. */
export function openDatabase(file: string): DatabaseSync {
  checkFile(file);
  const { DatabaseSync } = loadSqlite();
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(file, { timeout: BUSY_MS });
  } catch (cause) {
    throw new JournalError(`${file}: cannot be opened (${messageOf(cause)}). Check that it is a file you may write.`, {
      cause,
    });
  }
  try {
    database.exec('PRAGMA trusted_schema = OFF;');
    migrate(database, file);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    return database;
  } catch (cause) {
    database.close();
    throw asJournalError(file, cause);
  }
}

function migrate(database: DatabaseSync, file: string): void {
  if (versionOf(database, file) === VERSION) {
    checkSchema(database, file, VERSION);
    return;
  }
  transaction(database, () => {
    // Another process may have made it in the meantime.
    const version = versionOf(database, file);
    if (version !== undefined) checkSchema(database, file, version);
    if (version === VERSION) return;
    if (version === undefined) {
      const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_master').get() as { tables: number };
      if (tables > 0) throw new JournalError(`${file}: is another program's SQLite database. Use another file.`);
      database.exec(`${SCHEMA} PRAGMA application_id = ${APPLICATION_ID};`);
    } else {
      checkIdle(database, file);
      for (let from = version; from < VERSION; from += 1) database.exec(MIGRATIONS[from] ?? '');
    }
    database.exec(`PRAGMA user_version = ${VERSION};`);
  });
}

/** Undefined where the file is not ours, or new. */
function versionOf(database: DatabaseSync, file: string): number | undefined {
  if (pragma(database, 'application_id') !== APPLICATION_ID) return undefined;
  const version = pragma(database, 'user_version');
  if (version < 1)
    throw new JournalError(`${file}: is damaged (schema ${version}). Put a whole copy back, or use another file.`);
  if (version <= VERSION) return version;
  throw new JournalError(
    `${file}: written by a newer coxswain (schema ${version}, this one knows ${VERSION}). Update coxswain, or use another file.`,
  );
}

/** An older coxswain that is at work on it would find its tables gone. */
function checkIdle(database: DatabaseSync, file: string): void {
  const owned = database.prepare('SELECT id, host, pid, boot, heartbeat FROM runs WHERE pid IS NOT NULL').all();
  const busy = (owned as unknown as RunRow[]).find(isOwned);
  if (busy === undefined) return;
  throw new JournalError(
    `${file}: is of an older coxswain, which is at work on run ${busy.id} (process ${busy.pid} on ${busy.host}). Wait for it or end it, then open the file again.`,
  );
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

function checkFile(file: string): void {
  if (typeof file !== 'string' || file === '') {
    throw new ConfigurationError('sqlite.file', 'expected a path', "Name the file: sqlite('runs.db').");
  }
  if (file === ':memory:') return;
  if (!existsSync(dirname(file))) throw new JournalError(`${file}: its folder does not exist. Make it first.`);
  const facts = lstatSync(file, { throwIfNoEntry: false });
  if (!privateFile(file)) throw new JournalError(`${file}: it or a file beside it is a link. Name the file itself.`);
  if (facts !== undefined && !facts.isFile()) throw new JournalError(`${file}: is no file. Name a file.`);
}

function loadSqlite(): typeof import('node:sqlite') {
  const sqlite = process.getBuiltinModule('node:sqlite');
  if (sqlite === undefined)
    throw new ConfigurationError('journal', 'this Node has no node:sqlite', 'Use Node 22.16 or newer.');
  return sqlite;
}

/** Whether the file that is there now is still there when asked: one that was removed or replaced takes all that is written with it. */
export function inPlace(file: string): () => boolean {
  const then = identityOf(file);
  return () => identityOf(file) === then;
}

/** Undefined where there is none, or where it lives in memory. */
function identityOf(file: string): string | undefined {
  const facts = file === ':memory:' ? undefined : statSync(file, { throwIfNoEntry: false, bigint: true });
  return facts && `${facts.dev} ${facts.ino}`;
}
