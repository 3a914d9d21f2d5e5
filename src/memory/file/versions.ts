import type { Embedder } from '../../core/contract/memory.ts';
import { canonical, type Json } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import type { MemoryFile } from './memory-file.ts';
import { nearHash } from './near-text.ts';
import { dropCachedVector } from './stored-vectors.ts';
import { termsOf } from './terms.ts';

/** One entry as it is now. */
export interface Memory {
  readonly id: string;
  /** Counts from 1; each change adds one. */
  readonly version: number;
  readonly text: string;
  readonly namespace: string;
  readonly source: string;
  readonly label: Label;
  readonly metadata?: { readonly [key: string]: Json };
  /** What it is about: `user`, `feedback`, `project`, `reference`, or a word of your own. */
  readonly kind?: string;
  /** What it is the value of: a later `add` with the same key is its next version. */
  readonly key?: string;
  /** Who wrote it, where an agent did: its name and its run's id. */
  readonly agent?: string;
  readonly run?: string;
}

/** Why a version is no longer current. */
export type Closed = 'update' | 'contradiction' | 'consolidation' | 'undo';

/** One version of an entry. Times are milliseconds since 1970. */
export interface MemoryVersion extends Memory {
  readonly validFrom: number;
  /** Absent while it is current. */
  readonly validTo?: number;
  readonly closedBy?: Closed;
}

export interface VersionRow {
  readonly number: number;
  readonly namespace: number;
  /** Of the namespace. */
  readonly name: string;
  readonly terms: number;
  readonly valid_from: number;
  readonly valid_to: number | null;
  readonly id: string;
  readonly version: number;
  readonly created: number;
  readonly kind: string | null;
  readonly key: string | null;
  readonly source: string;
  readonly agent: string | null;
  readonly run: string | null;
  readonly label: string;
  readonly closed_by: Closed | null;
  readonly opened_in: number | null;
  readonly closed_in: number | null;
  readonly metadata: string | null;
  readonly text: string;
}

const SELECT = 'SELECT e.*, n.name FROM versions e JOIN namespaces n ON n.number = e.namespace';
const CURRENT = 'AND e.valid_to IS NULL';

export function currentById(file: MemoryFile, id: string): VersionRow | undefined {
  return file.get<VersionRow>(`${SELECT} WHERE e.id = ? ${CURRENT}`, id);
}

export function currentByKey(file: MemoryFile, namespace: string, key: string): VersionRow | undefined {
  return file.get<VersionRow>(`${SELECT} WHERE n.name = ? AND e.key = ? ${CURRENT}`, namespace, key);
}

/** Current entries of a namespace whose text is a duplicate, oldest first. */
export function currentByText(file: MemoryFile, namespace: string, text: string): VersionRow[] {
  const sql = `${SELECT} WHERE n.name = ? AND e.near = ? ${CURRENT} ORDER BY e.number`;
  return file.all<VersionRow>(sql, namespace, nearHash(text));
}

export function versionByNumber(file: MemoryFile, number: number): VersionRow | undefined {
  return file.get<VersionRow>(`${SELECT} WHERE e.number = ?`, number);
}

/** All versions of an entry, oldest first. */
export function versionsOf(file: MemoryFile, id: string): VersionRow[] {
  return file.all<VersionRow>(`${SELECT} WHERE e.id = ? ORDER BY e.version`, id);
}

/** The entry in a row. */
export function memoryOf(row: VersionRow): Memory {
  const { id, version, text, name, source, metadata, kind, key, agent, run } = row;
  return {
    id,
    version,
    text,
    namespace: name,
    source,
    // The columns hold what insert wrote.
    label: JSON.parse(row.label) as Label,
    ...(metadata === null ? {} : { metadata: JSON.parse(metadata) as { [key: string]: Json } }),
    ...(kind === null ? {} : { kind }),
    ...(key === null ? {} : { key }),
    ...(agent === null ? {} : { agent }),
    ...(run === null ? {} : { run }),
  };
}

export function memoryVersionOf(row: VersionRow): MemoryVersion {
  return {
    ...memoryOf(row),
    validFrom: row.valid_from,
    ...(row.valid_to === null ? {} : { validTo: row.valid_to }),
    ...(row.closed_by === null ? {} : { closedBy: row.closed_by }),
  };
}

export interface Insert {
  readonly memory: Memory;
  readonly vector?: Float32Array | undefined;
  readonly embedder?: Pick<Embedder, 'id' | 'dimensions'> | undefined;
  /** When the entry's first version was made. */
  readonly created: number;
  readonly validFrom: number;
  /** The operation it is a part of. */
  readonly operation?: number | undefined;
  /** Where it is not current any more. */
  readonly closed?: Closing | undefined;
}

interface Closing {
  readonly at: number;
  readonly by: Closed;
  readonly operation?: number | undefined;
}

/** Writes a version, which is current unless it was closed, with its index; within a transaction. Gives its row number. */
export function insertVersion(file: MemoryFile, insert: Insert): number {
  const { memory, created, validFrom, closed } = insert;
  file.run('INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING', memory.namespace);
  const namespace = namespaceNumber(file, memory.namespace) ?? 0;
  const terms = termsOf(memory.text, 'index');
  const row = file.get<{ number: number }>(
    `INSERT INTO versions (namespace, terms, valid_from, id, version, created, kind, key, source, agent, run, label, near,
       opened_in, metadata, text, valid_to, closed_by, closed_in)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
    namespace,
    terms.length,
    validFrom,
    memory.id,
    memory.version,
    created,
    memory.kind ?? null,
    memory.key ?? null,
    memory.source,
    memory.agent ?? null,
    memory.run ?? null,
    JSON.stringify(memory.label),
    nearHash(memory.text),
    insert.operation ?? null,
    memory.metadata === undefined ? null : JSON.stringify(memory.metadata),
    memory.text,
    closed === undefined ? null : Math.max(closed.at, validFrom),
    closed?.by ?? null,
    closed?.operation ?? null,
  );
  const number = row?.number ?? 0;
  // A reader that is further behind than this reads the whole segment again.
  if (number % 1_024 === 0)
    file.run('DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?', KEPT_CHANGES);
  if (closed === undefined) countIn(file, namespace, terms.length, 1);
  indexText(file, number, closed === undefined ? `${namespace}_` : `${namespace}h_`, terms);
  for (const [key, value] of facetsOf(memory)) {
    file.run('INSERT INTO facets (namespace, key, value, version) VALUES (?, ?, ?, ?)', namespace, key, value, number);
  }
  see(file, number, memory, validFrom);
  if (insert.vector !== undefined && insert.embedder !== undefined) {
    insertVector(file, namespace, number, insert.embedder, insert.vector);
    dropCachedVector(file, memory.text);
  }
  return number;
}

/** Metadata is stored under `.`, our own facts under `@`, so that no user's key is one of ours. */
function facetsOf(memory: Memory): [string, string][] {
  const own = Object.entries(memory.metadata ?? {}).map(([key, value]): [string, string] => [
    `.${key}`,
    canonical(value),
  ]);
  return memory.kind === undefined ? own : [...own, ['@kind', canonical(memory.kind)]];
}

/** Records a source of a version: the version goes when its last source is removed. */
export function see(
  file: MemoryFile,
  version: number,
  { source, label }: { readonly source: string; readonly label: Pick<Label, 'origins'> },
  at: number,
): void {
  file.run(
    `INSERT INTO sightings (version, source, origins, seen) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET seen = excluded.seen, origins = (SELECT json_group_array(value) FROM (
       SELECT value FROM json_each(sightings.origins) UNION SELECT value FROM json_each(excluded.origins)))`,
    version,
    source,
    JSON.stringify(label.origins),
    at,
  );
}

export function namespaceNumber(file: MemoryFile, name: string): number | undefined {
  return file.get<{ number: number }>('SELECT number FROM namespaces WHERE name = ?', name)?.number;
}

/** Writes the vector of a version, in the segment of its namespace and embedder; within a transaction. */
export function insertVector(
  file: MemoryFile,
  namespace: number,
  version: number,
  { id, dimensions }: Pick<Embedder, 'id' | 'dimensions'>,
  { buffer, byteOffset, byteLength }: Float32Array,
): void {
  const values = [namespace, id, dimensions] as const;
  file.run('INSERT INTO segments (namespace, embedder, dimensions) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', ...values);
  file.run(
    `INSERT INTO vectors (segment, version, data)
     SELECT number, ?, ? FROM segments WHERE namespace = ? AND embedder = ? AND dimensions = ?
     ON CONFLICT DO NOTHING`,
    version,
    new Uint8Array(buffer, byteOffset, byteLength),
    ...values,
  );
}

const KEPT_CHANGES = 20_000;

/** Ends a version's validity: it stays in the file and is found only by a search of that time; within a transaction. */
export function closeVersion(file: MemoryFile, row: VersionRow, closed: Closing): void {
  file.run(
    'UPDATE versions SET valid_to = ?, closed_by = ?, closed_in = ? WHERE number = ?',
    Math.max(closed.at, row.valid_from),
    closed.by,
    closed.operation ?? null,
    row.number,
  );
  closeVectors(file, row.number);
  countIn(file, row.namespace, row.terms, -1);
  file.run('DELETE FROM lexical WHERE rowid = ?', row.number);
  indexText(file, row.number, `${row.namespace}h_`, termsOf(row.text, 'index'));
}

/** No search but one of an earlier time compares them; within a transaction. */
export function closeVectors(file: MemoryFile, version: number): void {
  file.run('UPDATE vectors SET current = 0 WHERE version = ?', version);
}

/** Takes a version out of every table; within a transaction. */
export function eraseVersion(file: MemoryFile, row: VersionRow): void {
  dropCachedVector(file, row.text);
  file.run('DELETE FROM lexical WHERE rowid = ?', row.number);
  if (row.valid_to === null) countIn(file, row.namespace, row.terms, -1);
  file.run('DELETE FROM versions WHERE number = ?', row.number);
  if (file.get('SELECT 1 FROM versions WHERE namespace = ? LIMIT 1', row.namespace) !== undefined) return;
  file.run('DELETE FROM segments WHERE namespace = ?', row.namespace);
  file.run('DELETE FROM namespaces WHERE number = ?', row.namespace);
}

function countIn(file: MemoryFile, namespace: number, terms: number, by: 1 | -1): void {
  file.run(
    'UPDATE namespaces SET entries = entries + ?, terms = terms + ? WHERE number = ?',
    by,
    by * terms,
    namespace,
  );
}

function indexText(file: MemoryFile, number: number, prefix: string, terms: readonly string[]): void {
  const body = terms.map((term) => prefix + term).join(' ');
  file.run('INSERT INTO lexical (rowid, body) VALUES (?, ?)', number, body);
}
