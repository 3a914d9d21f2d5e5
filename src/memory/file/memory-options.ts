import type { Embedder } from '../../core/contract/memory.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import { unitVector } from '../vectors/cosine-similarity.ts';

export type OptionFields = { readonly [name: string]: unknown };

/** The value as an object without other fields than these. */
export function checkedFields(value: unknown, at: string, names: readonly string[]): OptionFields {
  if (!isPlainObject(value)) throw new ConfigurationError(at, 'expected an object', `It has ${names.join(', ')}.`);
  for (const name in value) {
    if (!names.includes(name)) {
      throw new ConfigurationError(`${at}.${name}`, 'unknown option', `Known are ${names.join(', ')}.`);
    }
  }
  return value;
}

export function stringOf(fields: OptionFields, name: string, at: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value.trim() !== '' && value.isWellFormed()) return value;
  throw new ConfigurationError(`${at}.${name}`, 'expected a well-formed text that is not blank', 'Give a string.');
}

/** The id of an entry or a proposal: an object would name parameters of a statement. */
export function idOf(value: unknown, at = 'id'): string {
  if (typeof value === 'string') return value;
  throw new ConfigurationError(at, 'expected a text', 'Give the id that add, search or list gave.');
}

/** Longer texts are documents: they belong in files. In UTF-16 code units. */
export const MAX_TEXT = 1_000_000;
const MAX_NAME = 256;

/** A text to store. */
export function storedText(fields: OptionFields, name: string, at: string): string {
  const text = stringOf(fields, name, at);
  if (text.length <= MAX_TEXT) return text;
  const problem = `has ${text.length} characters, at most ${MAX_TEXT} are stored`;
  throw new ConfigurationError(`${at}.${name}`, problem, 'Store what matters of it, in pieces.');
}

/** Parts that lead to another folder, and the texts that a template makes of a missing value, which all callers without one would share. */
const NO_PART: ReadonlySet<string> = new Set(['', '.', '..', 'undefined', 'null', 'NaN', '[object Object]']);

/** The name of a namespace, which is compared as a whole: one that could be taken for a path out of another is refused. */
export function namespaceOf(fields: OptionFields, at: string): string {
  const name = stringOf(fields, 'namespace', at);
  const parts = name.split(/[/\\]/);
  const isName =
    name.length <= MAX_NAME && name === name.trim() && !/\p{C}/u.test(name) && !parts.some((part) => NO_PART.has(part));
  if (isName) return name;
  const mend = `Write a name or name/name of up to ${MAX_NAME} characters: no control character, no empty part, no . or .., nothing that was undefined`;
  throw new ConfigurationError(`${at}.namespace`, 'is no name of a namespace', mend);
}

export function wholeOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new ConfigurationError(at, 'expected a whole number above 0', 'Give 1, 2, 3, …');
}

export function finiteOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new ConfigurationError(at, 'expected a finite number', 'Give milliseconds.');
}

/** Metadata or a `where`: an object of JSON values; undefined where there is none. */
export function jsonObjectOf(value: unknown, at: string): { readonly [key: string]: Json } | undefined {
  if (value === undefined) return undefined;
  if (isPlainObject(value)) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    if (entries.every(([, item]) => isJson(item, MAX_DEPTH)))
      return Object.fromEntries(entries) as { [key: string]: Json };
  }
  throw new ConfigurationError(
    at,
    'expected an object of JSON values',
    'Give plain data: no functions, dates or NaN, no more than 64 levels.',
  );
}

/** Deeper values would overflow the stack of a recursive reader. */
const MAX_DEPTH = 64;

function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1));
  return isPlainObject(value) && Object.values(value).every((item) => isJson(item, depth - 1));
}

export function labelOf(value: unknown, at: string): Label | undefined {
  if (value === undefined) return undefined;
  const label = checkedFields(value, at, ['integrity', 'confidentiality', 'origins']);
  const { integrity, confidentiality, origins } = label;
  if (
    (integrity === 'trusted' || integrity === 'untrusted') &&
    (confidentiality === 'public' || confidentiality === 'private' || confidentiality === 'secret') &&
    Array.isArray(origins) &&
    origins.every((origin) => typeof origin === 'string')
  ) {
    return { integrity, confidentiality, origins };
  }
  const mend = "Write { integrity: 'untrusted', confidentiality: 'private', origins: ['…'] }.";
  throw new ConfigurationError(at, 'expected a label', mend);
}

/** The unit vector to store or compare; a bad one is refused, since SQLite would rank it first or lose it. */
export function vectorOf(value: unknown, embedder: Embedder | undefined, at: string): Float32Array {
  if (embedder === undefined) {
    throw new ConfigurationError(at, 'this memory has no embedder', 'Give longTermMemory an embedder, or no vector.');
  }
  if (!(value instanceof Float32Array) && !Array.isArray(value)) {
    throw new ConfigurationError(at, 'expected numbers', 'Give a Float32Array or a list of numbers.');
  }
  if (value.length !== embedder.dimensions) {
    const problem = `has ${value.length} dimensions, the embedder says ${embedder.dimensions}`;
    throw new ConfigurationError(at, problem, 'Correct the embedder, or its dimensions.');
  }
  const unit = unitVector(value);
  if (unit !== undefined) return unit;
  throw new ConfigurationError(at, 'is all zeros or has a number that is not finite', 'Check what the embedder gave.');
}
