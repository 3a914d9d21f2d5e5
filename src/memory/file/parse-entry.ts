import type { MemoryEntry } from '../../core/contract/memory.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { type Label, UNTRUSTED } from '../../core/values/label.ts';
import {
  checkedFields,
  jsonObjectOf,
  labelOf,
  namespaceOf,
  type OptionFields,
  storedText,
  stringOf,
  wholeOf,
} from './memory-options.ts';
import type { Memory } from './versions.ts';

/** What is stored: beside the text, what it is about and who wrote it. */
export interface NewEntry extends MemoryEntry {
  /** `user`, `feedback`, `project`, `reference`, or a word of your own. */
  readonly kind?: string | undefined;
  /** What it is the value of: a later `add` with the same key is its next version. */
  readonly key?: string | undefined;
  readonly agent?: string | undefined;
  readonly run?: string | undefined;
  /** Made ready outside, else by the store's embedder. */
  readonly vector?: Float32Array | undefined;
}

/** New content of an entry; what is not given stays. */
export interface MemoryUpdate {
  readonly text: string;
  /** The version that was read. */
  readonly version: number;
  readonly source?: string | undefined;
  readonly metadata?: { readonly [key: string]: Json } | undefined;
  readonly label?: Label | undefined;
  readonly kind?: string | undefined;
  readonly agent?: string | undefined;
  readonly run?: string | undefined;
  /** Made ready outside, else by the store's embedder. */
  readonly vector?: Float32Array | undefined;
}

const OPTIONAL = ['kind', 'key', 'agent', 'run'] as const;
const ENTRY = ['text', 'namespace', 'source', 'metadata', 'label', 'vector', ...OPTIONAL];
const UPDATE = ['text', 'version', 'source', 'metadata', 'label', 'vector', 'kind', 'agent', 'run'];

/** @throws ConfigurationError that names the field. */
export function parseEntry(value: unknown, id: string, at = 'entry'): { memory: Memory; vector: unknown } {
  const fields = checkedFields(value, at, ENTRY);
  const memory: Memory = {
    id,
    version: 1,
    text: storedText(fields, 'text', at),
    namespace: namespaceOf(fields, at),
    source: stringOf(fields, 'source', at),
    label: structuredClone(labelOf(fields.label, `${at}.label`) ?? UNTRUSTED),
    ...metadataOf(fields.metadata, `${at}.metadata`),
    ...optional(fields, OPTIONAL, at),
  };
  return { memory, vector: fields.vector };
}

/** @throws ConfigurationError that names the field. */
export function parseUpdate(value: unknown): {
  version: number;
  changes: Partial<Memory> & { text: string };
  vector: unknown;
} {
  const fields = checkedFields(value, 'update', UPDATE);
  const label = labelOf(fields.label, 'update.label');
  const changes = {
    text: storedText(fields, 'text', 'update'),
    ...optional(fields, ['source', 'kind', 'agent', 'run'], 'update'),
    ...(label === undefined ? {} : { label: structuredClone(label) }),
    ...metadataOf(fields.metadata, 'update.metadata'),
  };
  return { version: wholeOf(fields.version, 'update.version'), changes, vector: fields.vector };
}

function optional(fields: OptionFields, names: readonly string[], at: string): { [name: string]: string } {
  const given = names.filter((name) => fields[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, stringOf(fields, name, at)]));
}

function metadataOf(value: unknown, at: string): { readonly metadata?: { readonly [key: string]: Json } } {
  const metadata = jsonObjectOf(value, at);
  if (metadata === undefined) return {};
  if (JSON.stringify(metadata).length > MAX_METADATA) {
    throw new ConfigurationError(at, `is longer than ${MAX_METADATA} characters of JSON`, 'Keep it short.');
  }
  return { metadata: structuredClone(metadata) };
}

const MAX_METADATA = 16_384;
