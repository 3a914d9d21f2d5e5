import type { DatabaseSync } from 'node:sqlite';

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
