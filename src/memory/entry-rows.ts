import { canonical, type Json } from '../core/json.ts';
import type { Label } from '../core/label.ts';
import type { Embedder } from '../core/memory.ts';
import type { MemoryFile } from './memory-file.ts';

/** One entry as it is stored. */
export interface Memory {
  readonly id: string;
  /** Counts from 1; each update adds one. */
  readonly version: number;
  readonly text: string;
  readonly namespace: string;
  readonly source: string;
  readonly label: Label;
  readonly metadata?: { readonly [key: string]: Json };
}

export interface EntryRow {
  readonly number: number;
  readonly id: string;
  readonly namespace: number;
  /** Of the namespace. */
  readonly name: string;
  readonly text: string;
  readonly source: string;
  readonly metadata: string | null;
  readonly label: string;
  readonly version: number;
  readonly terms: number;
  readonly created: number;
}

/** What a text is found by. */
export interface EntryIndex {
  readonly terms: readonly string[];
  readonly vector: Float32Array | undefined;
}

const SELECT = 'SELECT e.*, n.name FROM entries e JOIN namespaces n ON n.number = e.namespace';

export function entryById(file: MemoryFile, id: string): EntryRow | undefined {
  return file.get<EntryRow>(`${SELECT} WHERE e.id = ?`, id);
}

export function entryByNumber(file: MemoryFile, number: number): EntryRow | undefined {
  return file.get<EntryRow>(`${SELECT} WHERE e.number = ?`, number);
}

/** The entry that a row holds. */
export function memoryOf(row: EntryRow): Memory {
  // The columns hold what insert wrote.
  const { id, version, text, name, source } = row;
  const metadata = row.metadata === null ? {} : { metadata: JSON.parse(row.metadata) as { [key: string]: Json } };
  return { id, version, text, namespace: name, source, label: JSON.parse(row.label) as Label, ...metadata };
}

/** Writes an entry with its index; within a transaction. `created` is in milliseconds since 1970. */
export function insertEntry(
  file: MemoryFile,
  memory: Memory,
  index: EntryIndex,
  embedder: Embedder | undefined,
  created: number,
): void {
  file.run('INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING', memory.namespace);
  const namespace =
    file.get<{ number: number }>('SELECT number FROM namespaces WHERE name = ?', memory.namespace)?.number ?? 0;
  file.run(
    'UPDATE namespaces SET entries = entries + 1, terms = terms + ? WHERE number = ?',
    index.terms.length,
    namespace,
  );
  const metadata = memory.metadata === undefined ? null : JSON.stringify(memory.metadata);
  const row = file.get<{ number: number }>(
    `INSERT INTO entries (id, namespace, text, source, metadata, label, version, terms, created, updated)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
    memory.id,
    namespace,
    memory.text,
    memory.source,
    metadata,
    JSON.stringify(memory.label),
    memory.version,
    index.terms.length,
    created,
    Date.now(),
  );
  const entry = row?.number ?? 0;
  file.run(
    'INSERT INTO lexical (rowid, body) VALUES (?, ?)',
    entry,
    index.terms.map((term) => `${namespace}_${term}`).join(' '),
  );
  for (const [key, value] of Object.entries(memory.metadata ?? {})) {
    file.run('INSERT INTO facets (key, value, entry) VALUES (?, ?, ?)', key, canonical(value), entry);
  }
  if (index.vector === undefined || embedder === undefined) return;
  const { buffer, byteOffset, byteLength } = index.vector;
  file.run(
    'INSERT INTO vectors (entry, namespace, embedder, dimensions, data) VALUES (?, ?, ?, ?, ?)',
    entry,
    namespace,
    embedder.id,
    embedder.dimensions,
    new Uint8Array(buffer, byteOffset, byteLength),
  );
}

/** Takes an entry and its index out; within a transaction. */
export function eraseEntry(file: MemoryFile, row: EntryRow): void {
  file.run('DELETE FROM lexical WHERE rowid = ?', row.number);
  file.run('DELETE FROM entries WHERE number = ?', row.number);
  file.run('UPDATE namespaces SET entries = entries - 1, terms = terms - ? WHERE number = ?', row.terms, row.namespace);
  file.run('DELETE FROM namespaces WHERE number = ? AND entries = 0', row.namespace);
}
