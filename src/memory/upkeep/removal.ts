import type { Label } from '../../core/values/label.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { eraseVersion, type VersionRow, versionByNumber, versionsOf } from '../file/versions.ts';
import type { Provenance } from '../long-term-memory-type.ts';
import { reopen, undoOperation } from './operations.ts';
import { dropPendingFrom, dropPendingWith } from './pending-extractions.ts';
import { dropProposalsFor, dropProposalsFrom } from './proposals.ts';

/**
 * Takes an entry with all its versions out of every table, with what it was merged from, and the changes that wait for it. What it
 * was merged into is taken apart: the others of that are current again. Gives whether there was such an entry; within a transaction.
 */
export function removeEntry(file: MemoryFile, id: string, now: number): boolean {
  const rows = versionsOf(file, id);
  for (const { operation, undone } of mergesOf(file, id)) {
    if (undone === null) undoOperation(file, operation, now);
    for (const row of openedIn(file, operation)) eraseVersion(file, row);
  }
  const parts = rows.flatMap((row) => partsOf(file, row));
  for (const row of versionsOf(file, id)) eraseVersion(file, row);
  dropProposalsFor(file, id);
  for (const { name, text } of rows) dropPendingWith(file, name, text);
  for (const part of new Set(parts)) removeEntry(file, part, now);
  return rows.length > 0;
}

/** The operations that derived other entries from an entry, directly or indirectly: the last first. */
function mergesOf(file: MemoryFile, id: string): { operation: number; undone: number | null }[] {
  return file.all(
    `WITH RECURSIVE used (operation) AS (
       SELECT closed_in FROM versions WHERE id = ?1 AND EXISTS (
         SELECT 1 FROM versions merged WHERE merged.opened_in = versions.closed_in AND merged.id <> ?1)
       UNION SELECT v.closed_in FROM used u JOIN versions v ON v.opened_in = u.operation
       WHERE EXISTS (SELECT 1 FROM versions merged WHERE merged.opened_in = v.closed_in))
     SELECT operation, undone FROM used JOIN operations o ON o.number = operation ORDER BY operation DESC`,
    id,
  );
}

/** The entries that a merged version is made of and that are nothing else any more. */
function partsOf(file: MemoryFile, { id, opened_in }: VersionRow): string[] {
  if (opened_in === null) return [];
  const rows = file.all<{ id: string }>(
    `SELECT DISTINCT id FROM versions v WHERE closed_in = ?1 AND id <> ?2
     AND NOT EXISTS (SELECT 1 FROM versions c WHERE c.id = v.id AND c.valid_to IS NULL)`,
    opened_in,
    id,
  );
  return rows.map((row) => row.id);
}

function openedIn(file: MemoryFile, operation: number): VersionRow[] {
  const rows = file.all<{ number: number }>('SELECT number FROM versions WHERE opened_in = ?', operation);
  return rows.flatMap(({ number }) => versionByNumber(file, number) ?? []);
}

/**
 * Removes every version, proposal and pending extraction from a source or an origin. Versions with other sources keep those;
 * consolidations that used it are undone first; versions that it had replaced become current again. Returns how many versions and
 * proposals were removed; within a transaction.
 */
export function removeByProvenance(file: MemoryFile, provenance: Provenance, now: number): number {
  const match = `FROM sightings s JOIN versions e ON e.number = s.version JOIN namespaces n ON n.number = e.namespace
    WHERE (?1 IS NULL OR n.name = ?1) AND (?2 IS NULL OR s.source = ?2)
    AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(s.origins) WHERE value = ?3))`;
  const values = [provenance.namespace ?? null, provenance.source ?? null, provenance.origin ?? null];
  const derived = file.all<{ operation: number }>(
    `SELECT DISTINCT e.opened_in AS operation ${match} AND e.opened_in IS NOT NULL ORDER BY operation DESC`,
    ...values,
  );
  for (const { operation } of derived) undoOperation(file, operation, now);
  const erased: VersionRow[] = [];
  for (const { version, said } of file.all<{ version: number; said: string }>(
    `SELECT s.version, s.source AS said ${match}`,
    ...values,
  )) {
    const row = eraseSighting(file, version, said);
    if (row !== undefined) erased.push(row);
  }
  // Only now, when all versions of the source are removed.
  for (const row of erased) if (row.valid_to === null) reopenLast(file, row.id, now);
  return erased.length + dropProposalsFrom(file, provenance) + dropPendingFrom(file, provenance);
}

/** The row, if it had no other source and was removed. */
function eraseSighting(file: MemoryFile, version: number, source: string): VersionRow | undefined {
  const row = versionByNumber(file, version);
  if (row === undefined) return undefined;
  file.run('DELETE FROM sightings WHERE version = ? AND source = ?', version, source);
  const others = file.all<{ source: string; origins: string }>(
    'SELECT source, origins FROM sightings WHERE version = ? ORDER BY seen, source',
    version,
  );
  const [first] = others;
  // The text of a consolidation has no single source.
  if (first === undefined || row.opened_in !== null) {
    eraseVersion(file, row);
    return row;
  }
  file.run(
    'UPDATE versions SET source = ?, label = ? WHERE number = ?',
    row.source === source ? first.source : row.source,
    labelFrom(row, others),
    version,
  );
  return undefined;
}

/** The label of a version, with the origins of its remaining sources. */
function labelFrom({ label }: VersionRow, others: readonly { readonly origins: string }[]): string {
  const origins = [...new Set(others.flatMap((other) => JSON.parse(other.origins) as string[]))];
  return JSON.stringify({ ...(JSON.parse(label) as Label), origins });
}

function reopenLast(file: MemoryFile, id: string, now: number): void {
  const before = file.get<{ number: number }>(
    `SELECT number FROM versions WHERE id = ? AND closed_by IN ('update', 'contradiction') ORDER BY version DESC LIMIT 1`,
    id,
  );
  const last = before && versionByNumber(file, before.number);
  if (last !== undefined) reopen(file, last, now);
}
