import type { DatabaseSync } from 'node:sqlite';
import { CoxswainError, isA, JournalError, messageOf } from '../../core/values/errors.ts';

/** How long a transaction waits for that of another process, in milliseconds. */
export const BUSY_MS = 5_000;

/** Commits all of the work or nothing; no other connection writes meanwhile. */
export function transaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (thrown) {
    rollback(database);
    throw thrown;
  }
}

/** Reads that must see one moment of the file. */
export function snapshot<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN');
  try {
    return work();
  } finally {
    rollback(database);
  }
}

/** SQLite may have ended the transaction by itself: a full disk. */
function rollback(database: DatabaseSync): void {
  if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
}

/** SQLite's own errors, with what to do. */
export function asJournalError(file: string, thrown: unknown): CoxswainError {
  if (isA(thrown, CoxswainError)) return thrown;
  // The parser's message quotes the text, which may be private.
  const message = isA(thrown, SyntaxError) ? 'malformed JSON' : messageOf(thrown);
  return new JournalError(`${file}: ${mendOf(message)}`, { cause: thrown });
}

/** SQLite's message, with what to do. */
function mendOf(message: string): string {
  if (/not a database|malformed|no such (table|column)|has \d+ columns/.test(message))
    return `is damaged or no SQLite database (${message}). Put a whole copy back, or use another file.`;
  if (/readonly/.test(message)) return `may not be written (${message}). Check its permissions and its folder's.`;
  if (/locked|busy/.test(message)) return `is locked by another process (${message}). Try again when that has ended.`;
  if (/full|disk I\/O/.test(message))
    return `could not be written (${message}). Free some disk space and resume the run.`;
  return message;
}
