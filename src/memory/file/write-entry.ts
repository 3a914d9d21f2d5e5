import type { Embedder } from '../../core/contract/memory.ts';
import { MemoryConflict } from '../../core/values/errors.ts';
import { canonical } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import type { MemoryFile } from './memory-file.ts';
import { nearText } from './near-text.ts';
import {
  closeVersion,
  currentById,
  currentByKey,
  currentByText,
  insertVersion,
  type Memory,
  memoryOf,
  see,
  type VersionRow,
} from './versions.ts';

/** What is written beside an entry: its vector, the embedder of it, and the time in milliseconds since 1970. */
export interface Writing {
  readonly vector: Float32Array | undefined;
  readonly embedder: Embedder | undefined;
  readonly now: number;
}

/** `merged`: the namespace had it already, and nothing but the sighting was written. */
export type Added = Memory & { readonly merged?: true };

/**
 * Adds an entry, unless the namespace has its text already: then it is counted as seen again. With the key of a current entry
 * it is that entry's next version, and the old one's validity ends. `reworded` is an entry with the same meaning in other words. Within a transaction.
 *
 * @throws MemoryConflict if an untrusted text would replace a trusted one.
 */
export function addEntry(file: MemoryFile, memory: Memory, writing: Writing, reworded?: VersionRow): Added {
  const twin = twinOf(file, memory) ?? (reworded && stillCurrent(file, reworded));
  if (twin !== undefined) {
    see(file, twin.number, memory, writing.now);
    return { ...memoryOf(twin), merged: true };
  }
  const before = memory.key === undefined ? undefined : currentByKey(file, memory.namespace, memory.key);
  if (before === undefined) {
    insertVersion(file, { memory, ...writing, created: writing.now, validFrom: writing.now });
    return memory;
  }
  return replace(file, before, { ...memory, id: before.id, version: before.version + 1 }, writing, 'contradiction');
}

/** The current entry that is a duplicate of it. */
export function twinOf(file: MemoryFile, memory: Memory): VersionRow | undefined {
  return currentByText(file, memory.namespace, memory.text).find(
    (row) => nearText(row.text) === nearText(memory.text) && mayMerge(row, memory),
  );
}

function stillCurrent(file: MemoryFile, { id, number }: VersionRow): VersionRow | undefined {
  const row = currentById(file, id);
  return row?.number === number ? row : undefined;
}

/** Writes the next version of an entry; within a transaction. */
export function replace(
  file: MemoryFile,
  before: VersionRow,
  memory: Memory,
  writing: Writing,
  by: 'update' | 'contradiction',
): Memory {
  mayReplace(before, memory.label);
  closeVersion(file, before, { at: writing.now, by });
  // A clock that was set back must not end a version before it began.
  const validFrom = Math.max(writing.now, before.valid_from);
  insertVersion(file, { memory, ...writing, created: before.created, validFrom });
  return memory;
}

/** The current row, if it still is of the version that was read. */
export function expectVersion(file: MemoryFile, id: string, version: number): VersionRow {
  const row = currentById(file, id);
  if (row === undefined) throw new MemoryConflict(`entry ${JSON.stringify(id)} is not there, or was removed`);
  if (row.version === version) return row;
  throw new MemoryConflict(
    `entry ${JSON.stringify(id)} has version ${row.version}, expected ${version}: read it again`,
  );
}

/** An untrusted text may be stored beside a trusted one, and be proposed as its replacement, but not replace it. */
function mayReplace(before: VersionRow, label: Label): void {
  const old = JSON.parse(before.label) as Label;
  if (old.integrity !== 'trusted' || label.integrity === 'trusted') return;
  throw new MemoryConflict(
    `entry ${JSON.stringify(before.id)} is trusted, and what would replace it is not: propose it, or give a trusted label`,
    'trust',
  );
}

/**
 * Duplicates merge only where nothing else differs: neither what the text is about nor what its label allows. A key is
 * something that differs, unless the one that is there has the same or the new one has none.
 */
export function mayMerge(row: VersionRow, memory: Memory): boolean {
  const there = memoryOf(row);
  return (
    there.label.integrity === memory.label.integrity &&
    there.label.confidentiality === memory.label.confidentiality &&
    (memory.key === undefined || memory.key === there.key) &&
    (memory.kind === undefined || memory.kind === there.kind) &&
    (memory.metadata === undefined || canonical(memory.metadata) === canonical(there.metadata))
  );
}
