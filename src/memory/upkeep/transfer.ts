import { ConfigurationError, MemoryConflict } from '../../core/values/errors.ts';
import { canonical, isPlainObject } from '../../core/values/json.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { checkedFields, wholeOf } from '../file/memory-options.ts';
import { parseEntry } from '../file/parse-entry.ts';
import {
  type Closed,
  closeVectors,
  currentByKey,
  insertVector,
  insertVersion,
  memoryVersionOf,
  see,
  type VersionRow,
  versionByNumber,
  versionsOf,
} from '../file/versions.ts';
import { floatsOf, unitVector } from '../vectors/cosine-similarity.ts';
import { beginOperation } from './operations.ts';

/** First line of an export. */
const HEADER = { coxswain: 'memory', format: 1 };

/**
 * A header, then every version that exists at the start as one line of JSON, oldest first; with `vectors` also those, as base64 of
 * little-endian f32. Versions that are removed meanwhile are left out; versions that are closed meanwhile are exported as current.
 */
export function* exportLines(file: MemoryFile, namespace: string | undefined, vectors: boolean): Generator<string> {
  yield JSON.stringify(HEADER);
  const numbers = (condition: string) =>
    file.numbers(
      `SELECT json_group_array(number) AS list FROM (SELECT e.number FROM versions e JOIN namespaces n ON n.number = e.namespace
       WHERE ${condition} AND (?1 IS NULL OR n.name = ?1) ORDER BY e.number)`,
      namespace ?? null,
    );
  const { all, current } = file.snapshot(() => ({
    all: numbers('true'),
    current: new Set(numbers('e.valid_to IS NULL')),
  }));
  // Read one by one: writes between two lines must not meet an open statement.
  for (const number of all) {
    const now = versionByNumber(file, number);
    if (now === undefined) continue;
    const row = current.has(number) ? { ...now, valid_to: null, closed_by: null, closed_in: null } : now;
    const line = { ...memoryVersionOf(row), created: row.created, ...provenanceOf(file, row) };
    yield JSON.stringify(vectors ? { ...line, ...vectorsOf(file, row) } : line);
  }
}

/** Its other sources, and the consolidations that wrote and closed it: without them an import could not be removed by its source. */
function provenanceOf(file: MemoryFile, row: VersionRow): Provenance {
  const all = file.all<{ source: string; origins: string; seen: number }>(
    'SELECT source, origins, seen FROM sightings WHERE version = ? ORDER BY seen, source',
    row.number,
  );
  const others = all.filter(({ source }) => source !== row.source);
  const [openedIn, closedIn] = [row.opened_in, row.closed_in].map((number) => operationName(file, number));
  return {
    ...(others.length === 0
      ? {}
      : { seen: others.map(({ origins, ...rest }) => ({ ...rest, origins: JSON.parse(origins) as string[] })) }),
    ...(openedIn === undefined ? {} : { openedIn }),
    ...(closedIn === undefined ? {} : { closedIn }),
  };
}

interface Provenance {
  readonly seen?: readonly { readonly source: string; readonly origins: readonly string[]; readonly seen: number }[];
  readonly openedIn?: string;
  readonly closedIn?: string;
}

function operationName(file: MemoryFile, number: number | null): string | undefined {
  if (number === null) return undefined;
  return file.get<{ name: string }>('SELECT name FROM operations WHERE number = ?', number)?.name;
}

function vectorsOf(file: MemoryFile, row: VersionRow): { vectors?: { [embedder: string]: string } } {
  const list = file.all<{ embedder: string; data: Uint8Array }>(
    'SELECT s.embedder, v.data FROM vectors v JOIN segments s ON s.number = v.segment WHERE v.version = ?',
    row.number,
  );
  if (list.length === 0) return {};
  return {
    vectors: Object.fromEntries(list.map(({ embedder, data }) => [embedder, Buffer.from(data).toString('base64')])),
  };
}

const FIELDS = ['id', 'version', 'text', 'namespace', 'source', 'label', 'metadata', 'kind', 'key', 'agent', 'run'];
const TIMES = ['validFrom', 'validTo', 'closedBy', 'created', 'vectors', 'seen', 'openedIn', 'closedIn'];
const CLOSED: readonly unknown[] = ['update', 'contradiction', 'consolidation', 'undo'];

/**
 * Writes the lines of an export; within a transaction. What is there already, as it is, is passed over. Gives how many
 * versions were new.
 *
 * @throws ConfigurationError that names the line; MemoryConflict where a version is there with another content.
 */
export function importLines(file: MemoryFile, lines: readonly string[]): number {
  const [first, ...rest] = lines.filter((line) => line.trim() !== '');
  if (canonical(parseLine(first ?? 'null', 1)) !== canonical(HEADER)) {
    throw new ConfigurationError('line 1', 'is no header of an export', 'Give what export wrote, from its first line.');
  }
  let written = 0;
  rest.forEach((line, index) => {
    if (importVersion(file, parseLine(line, index + 2), `line ${index + 2}`)) written += 1;
  });
  return written;
}

function importVersion(file: MemoryFile, value: unknown, at: string): boolean {
  const { id, version, validFrom, validTo, closedBy, created, vectors, seen, openedIn, closedIn, ...entry } =
    checkedFields(value, at, [...FIELDS, ...TIMES]);
  if (typeof id !== 'string' || id === '') throw wrong(`${at}.id`, 'a text');
  if (validTo !== undefined && !CLOSED.includes(closedBy)) throw wrong(`${at}.closedBy`, 'why it was closed');
  const memory = { ...parseEntry(entry, id, at).memory, version: wholeOf(version, `${at}.version`) };
  const times = { created: timeOf(created, `${at}.created`), validFrom: timeOf(validFrom, `${at}.validFrom`) };
  const there = versionsOf(file, id);
  const same = there.find((row) => row.version === memory.version);
  if (same !== undefined) {
    const { validFrom: _, validTo: __, closedBy: ___, ...known } = memoryVersionOf(same);
    if (canonical(known) === canonical(memory)) return false;
    throw new MemoryConflict(`${at}: version ${memory.version} of this entry is there with another content`);
  }
  if (validTo === undefined && there.some((row) => row.valid_to === null)) {
    throw new MemoryConflict(`${at}: another version of this entry is current`);
  }
  const { namespace, key } = memory;
  if (validTo === undefined && key !== undefined && currentByKey(file, namespace, key) !== undefined) {
    throw new MemoryConflict(`${at}: another entry has the key ${JSON.stringify(key)}`);
  }
  const operation = (name: unknown, field: string, time: number) =>
    name === undefined ? undefined : operationOf(file, memory.namespace, nameOf(name, `${at}.${field}`), time);
  const opened = operation(openedIn, 'openedIn', times.validFrom);
  const end = validTo === undefined ? undefined : timeOf(validTo, `${at}.validTo`);
  const closed =
    end === undefined
      ? undefined
      : { at: end, by: closedBy as Closed, operation: operation(closedIn, 'closedIn', end) };
  const number = insertVersion(file, { memory, ...times, operation: opened, closed });
  for (const one of sightingsOf(seen, `${at}.seen`)) see(file, number, one, one.seen);
  const row = versionByNumber(file, number);
  if (row === undefined) return false;
  for (const [embedder, data] of vectorEntries(vectors, `${at}.vectors`)) {
    insertVector(file, row.namespace, number, { id: embedder, dimensions: data.length }, data);
  }
  if (closed !== undefined) closeVectors(file, number);
  return true;
}

function sightingsOf(value: unknown, at: string): { source: string; label: { origins: string[] }; seen: number }[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong(at, 'a list of who said it');
  return value.map((one: unknown, index) => {
    const { source, origins, seen } = checkedFields(one, `${at}[${index}]`, ['source', 'origins', 'seen']);
    const isList = Array.isArray(origins) && origins.every((origin) => typeof origin === 'string');
    if (!isList) throw wrong(`${at}[${index}].origins`, 'a list of texts');
    return {
      source: nameOf(source, `${at}[${index}].source`),
      label: { origins },
      seen: timeOf(seen, `${at}[${index}].seen`),
    };
  });
}

/** The operation of a name; made where it is not there. */
function operationOf(file: MemoryFile, namespace: string, name: string, time: number): number {
  const there = file.get<{ number: number }>('SELECT number FROM operations WHERE name = ?', name);
  return there?.number ?? beginOperation(file, namespace, name, time);
}

function nameOf(value: unknown, at: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw wrong(at, 'a text');
}

function vectorEntries(value: unknown, at: string): [string, Float32Array][] {
  if (value === undefined) return [];
  if (!isPlainObject(value)) throw wrong(at, 'base64 by embedder');
  return Object.entries(value).map(([embedder, text]) => {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : Buffer.alloc(0);
    const unit = bytes.length > 0 && bytes.length % 4 === 0 ? unitVector(floatsOf(Uint8Array.from(bytes))) : undefined;
    if (unit === undefined) throw wrong(at, 'a vector that is neither zero nor infinite');
    return [embedder, unit];
  });
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new ConfigurationError(`line ${number}`, 'is no JSON', 'Give what export wrote, whole.');
  }
}

function timeOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrong(at, 'milliseconds since 1970');
}

function wrong(field: string, expected: string): ConfigurationError {
  return new ConfigurationError(field, `expected ${expected}`, 'Give what export wrote.');
}
