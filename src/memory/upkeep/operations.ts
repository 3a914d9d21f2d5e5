import { canonical } from '../../core/values/json.ts';
import { joinLabels, type Label, TRUSTED } from '../../core/values/label.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import {
  closeVersion,
  currentById,
  currentByKey,
  insertVersion,
  type Memory,
  memoryOf,
  type VersionRow,
  versionByNumber,
} from '../file/versions.ts';
import type { Consolidated, ConsolidationChange, PastConsolidation } from '../long-term-memory-type.ts';

/**
 * Makes the changes of a consolidation, each whole or not at all, and none whose entries have changed since they were read.
 * A name is applied once: a second call changes nothing and returns the same counts. Within a transaction.
 */
export function applyChanges(
  file: MemoryFile,
  name: string,
  namespace: string,
  changes: readonly ConsolidationChange[],
  vectors: readonly (Float32Array | undefined)[],
  writing: { readonly embedder: Insert['embedder']; readonly now: number },
): Consolidated {
  let closed = 0;
  let merged = 0;
  let skipped = 0;
  changes.forEach((change, index) => {
    const key = `${name}/${index}`;
    const done = doneBefore(file, key);
    if (done !== undefined) {
      closed += done.closed;
      merged += done.merged;
      return;
    }
    const rows = asRead(file, namespace, change);
    if (rows === undefined) {
      skipped += 1;
      return;
    }
    const operation = beginOperation(file, namespace, key, writing.now);
    for (const row of rows) closeVersion(file, row, { at: writing.now, by: 'consolidation', operation });
    closed += rows.length;
    if (change.text === undefined) return;
    const number = insertVersion(file, {
      memory: joined(rows, change.text),
      vector: vectors[index],
      embedder: writing.embedder,
      created: Math.min(...rows.map((row) => row.created)),
      validFrom: Math.max(writing.now, ...rows.map((row) => row.valid_from)),
      operation,
    });
    inheritSightings(file, rows, number);
    merged += 1;
  });
  return { closed, merged, skipped };
}

/** The counts of an operation that is still in effect; undefined if there is none of this name. */
function doneBefore(file: MemoryFile, name: string): { closed: number; merged: number } | undefined {
  return file.get<{ closed: number; merged: number }>(
    `SELECT iif(undone IS NULL, (SELECT count(*) FROM versions v WHERE v.closed_in = o.number), 0) AS closed,
       iif(undone IS NULL, (SELECT count(DISTINCT id) FROM versions v WHERE v.opened_in = o.number), 0) AS merged
     FROM operations o WHERE name = ?`,
    name,
  );
}

type Insert = Parameters<typeof insertVersion>[1];

/** The parts of one consolidation, by the name it was given: of a run's the last part is the number of the batch. */
export function partName(name: string, batch: number): string {
  return `${name}/batch-${batch}`;
}

/** Newest first. */
export function consolidationsIn(file: MemoryFile, namespace: string): PastConsolidation[] {
  const rows = file.all<{ name: string; time: number; undone: number | null; closed: number }>(
    `SELECT name, time, undone, (SELECT count(*) FROM versions v WHERE v.closed_in = o.number) AS closed
     FROM operations o WHERE namespace = ? ORDER BY number DESC`,
    namespace,
  );
  const byName = Map.groupBy(rows, ({ name }) => name.replace(/\/\d+$/, '').replace(/\/batch-\d+$/, ''));
  return [...byName].map(([name, parts]) => ({
    name,
    time: Math.min(...parts.map((part) => part.time)),
    closed: parts.reduce((sum, part) => sum + part.closed, 0),
    undone: parts.every((part) => part.undone !== null),
  }));
}

/**
 * Undoes the operations of a name: what they wrote is closed, what they closed is written again as a new version. What was
 * changed since stays as it is. Gives how many entries came back; within a transaction.
 */
export function undoOperations(file: MemoryFile, name: string, now: number): number {
  const rows = file.all<{ number: number }>(
    `SELECT number FROM operations WHERE undone IS NULL AND (name = ?1 OR substr(name, 1, length(?1) + 1) = ?1 || '/')
     ORDER BY number DESC`,
    name,
  );
  return rows.reduce((sum, { number }) => sum + undoOperation(file, number, now), 0);
}

/**
 * Returns how many entries were restored; within a transaction. Restores none if a later operation used its entries: that one
 * must be undone first.
 */
export function undoOperation(file: MemoryFile, operation: number, now: number): number {
  const isUsed = file.get(
    `SELECT 1 FROM versions v JOIN operations o ON o.number = v.closed_in
     WHERE v.opened_in = ?1 AND o.number <> ?1 AND o.undone IS NULL`,
    operation,
  );
  if (isUsed !== undefined) return 0;
  for (const { number } of file.all<{ number: number }>(
    'SELECT number FROM versions WHERE opened_in = ? AND valid_to IS NULL',
    operation,
  )) {
    const row = versionByNumber(file, number);
    if (row !== undefined) closeVersion(file, row, { at: now, by: 'undo' });
  }
  let restored = 0;
  for (const { number } of file.all<{ number: number }>('SELECT number FROM versions WHERE closed_in = ?', operation)) {
    const row = versionByNumber(file, number);
    if (row !== undefined && reopen(file, row, now)) restored += 1;
  }
  file.run('UPDATE operations SET undone = ? WHERE number = ?', now, operation);
  return restored;
}

/**
 * Appends a closed version's content as the entry's current one, unless there is one, or its key is taken. What a consolidation
 * wrote stays a part of that one: it can still be taken apart.
 */
export function reopen(file: MemoryFile, row: VersionRow, now: number): boolean {
  if (currentById(file, row.id) !== undefined) return false;
  if (row.key !== null && currentByKey(file, row.name, row.key) !== undefined) return false;
  const last = file.get<{ version: number }>('SELECT max(version) AS version FROM versions WHERE id = ?', row.id);
  const memory: Memory = { ...memoryOf(row), version: (last?.version ?? row.version) + 1 };
  const number = insertVersion(file, {
    memory,
    created: row.created,
    validFrom: Math.max(now, row.valid_from),
    operation: row.opened_in ?? undefined,
  });
  inheritSightings(file, [row], number);
  file.run(
    'INSERT INTO vectors (segment, version, data) SELECT segment, ?, data FROM vectors WHERE version = ?',
    number,
    row.number,
  );
  return true;
}

function asRead(file: MemoryFile, namespace: string, { entries, text }: ConsolidationChange): VersionRow[] | undefined {
  const ids = new Set(entries.map((entry) => entry.id));
  if (ids.size === 0 || ids.size < entries.length) return undefined;
  const rows = entries.flatMap(({ id, version }) => {
    const row = currentById(file, id);
    return row?.version === version && row.name === namespace ? [row] : [];
  });
  if (text !== undefined && !canBeOne(rows)) return undefined;
  return rows.length === entries.length ? rows : undefined;
}

/** What is the value of two things cannot be one, nor what a filter by metadata keeps apart: it may be two persons'. */
function canBeOne(rows: readonly VersionRow[]): boolean {
  const keys = new Set(rows.flatMap(({ key }) => key ?? []));
  const metadata = new Set(rows.map((row) => canonical(memoryOf(row).metadata ?? {})));
  return keys.size <= 1 && metadata.size <= 1;
}

/** The merged entry is the next version of the one that was there first; its label is the worst of all. */
function joined(rows: readonly VersionRow[], text: string): Memory {
  const memories = rows.map(memoryOf);
  const oldest = rows.reduce((first, row) => (row.created < first.created ? row : first));
  const base = memoryOf(oldest);
  const key = memories.find((memory) => memory.key !== undefined)?.key;
  const label = memories.reduce<Label>((sum, memory) => joinLabels(sum, memory.label), TRUSTED);
  return { ...base, version: base.version + 1, text, label, ...(key === undefined ? {} : { key }) };
}

function inheritSightings(file: MemoryFile, rows: readonly VersionRow[], number: number): void {
  for (const row of rows) {
    file.run(
      `INSERT INTO sightings (version, source, origins, seen) SELECT ?, source, origins, seen FROM sightings WHERE version = ?
       ON CONFLICT DO NOTHING`,
      number,
      row.number,
    );
  }
}

/** Within a transaction; gives its number. */
export function beginOperation(file: MemoryFile, namespace: string, name: string, now: number): number {
  const row = file.get<{ number: number }>(
    'INSERT INTO operations (namespace, name, time) VALUES (?, ?, ?) RETURNING number',
    namespace,
    name,
    now,
  );
  return row?.number ?? 0;
}
