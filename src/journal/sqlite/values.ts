import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from '../../core/values/errors.ts';
import { type Json, sha256 } from '../../core/values/json.ts';

/** Longer texts go to a blob of their own, stored once whatever refers to it. UTF-16 units. */
export const LARGE = 65_536;
const BLOB = '@blob:';

/** A long text, and the address that replaces it in its column. No JSON text begins with `@`. */
export interface Blob {
  readonly address: string;
  readonly text: string;
}

export function blobOf(text: string): Blob {
  return { address: BLOB + sha256(text), text };
}

export function storeBlob(database: DatabaseSync, { address, text }: Blob): void {
  database.prepare('INSERT OR IGNORE INTO blobs VALUES (?, ?)').run(address.slice(BLOB.length), text);
}

/** The text of a column: JSON, or the address of the blob that holds it. */
export function storeValue(database: DatabaseSync, value: unknown): string | null {
  const text = JSON.stringify(value) ?? null;
  if (text === null || text.length <= LARGE) return text;
  const blob = blobOf(text);
  storeBlob(database, blob);
  return blob.address;
}

export function loadValue(database: DatabaseSync, text: string | null): Json | undefined {
  if (text === null) return undefined;
  if (!text.startsWith(BLOB)) return JSON.parse(text) as Json;
  const hash = text.slice(BLOB.length);
  const row = database.prepare('SELECT data FROM blobs WHERE hash = ?').get(hash) as { data: string } | undefined;
  if (row === undefined || sha256(row.data) !== hash) {
    throw new JournalError(
      `blob ${hash.slice(0, 12)}… is missing or was changed: the run cannot be resumed truly. Put a whole copy of the file back.`,
    );
  }
  return JSON.parse(row.data) as Json;
}

/** Removes what nothing refers to any more. */
export function sweepBlobs(database: DatabaseSync): void {
  database.exec(`DELETE FROM blobs WHERE hash NOT IN (
    SELECT substr(request, 7) FROM records WHERE request LIKE '@blob:%'
    UNION SELECT substr(value, 7) FROM records WHERE value LIKE '@blob:%'
    UNION SELECT substr(result, 7) FROM runs WHERE result LIKE '@blob:%')`);
}
