import type { Json } from '../values/json.ts';
import { propertyPath } from '../values/json-pointer.ts';
import { FORBIDDEN_KEYS } from './forbidden-keys.ts';
import { short } from './issue-text.ts';

/** Bounds of JSON that a model wrote: characters, values, nesting. */
const JSON_LIMITS = Object.freeze({ chars: 5_000_000, values: 100_000, depth: 64 });

export type StrictJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly kind: 'invalid_json' | 'invalid_args'; readonly message: string };

/**
 * JSON.parse for text from outside: what JSON.parse would take and lose is refused. Integers beyond 2^53 and numbers beyond
 * a double (it rounds them), a key given twice (it drops one), `__proto__`, `constructor` and `prototype` as keys, lone surrogates,
 * and what is too large or too deep. RFC 8259, with the names of I-JSON (RFC 7493). Never throws.
 */
export function strictJson(text: string): StrictJson {
  if (text.length > JSON_LIMITS.chars) {
    return invalid(`too large: ${text.length} characters, at most ${JSON_LIMITS.chars}`);
  }
  const shape = scan(text);
  if (shape.depth > JSON_LIMITS.depth) return invalid(`too deep: nested more than ${JSON_LIMITS.depth} levels`);
  if (shape.separators > JSON_LIMITS.values) return invalid(`too large: more than ${JSON_LIMITS.values} values`);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (thrown) {
    return { ok: false, kind: 'invalid_json', message: placeOf(text, thrown) };
  }
  const count = { members: 0 };
  const fault = inspect(value, count);
  if (fault !== undefined) return invalid(`$${fault.path}${fault.problem}`);
  // Each colon outside a text is one member; a key that came twice leaves fewer members than colons.
  if (count.members !== shape.colons) return invalid('duplicate key: the same key stands twice in one object');
  return { ok: true, value };
}

function invalid(message: string): StrictJson {
  return { ok: false, kind: 'invalid_args', message };
}

/** One look at each character outside of texts. Says nothing of whether the text is JSON. */
function scan(text: string): { depth: number; separators: number; colons: number } {
  let depth = 0;
  let deepest = 0;
  let colons = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        break;
      case 0x7b:
      case 0x5b:
        if (++depth > deepest) deepest = depth;
        break;
      case 0x7d:
      case 0x5d:
        depth--;
        break;
      case 0x3a:
        colons++;
        break;
      case 0x2c:
        commas++;
        break;
    }
  }
  return { depth: deepest, separators: commas + colons, colons };
}

/** Where the string that opens at `start` ends: its closing quote, or the end of the text. */
export function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
}

/** `path` is built on the way back, so that a value without fault costs no text. */
interface Fault {
  path: string;
  readonly problem: string;
}

function inspect(value: Json, count: { members: number }): Fault | undefined {
  if (typeof value === 'string') {
    return value.isWellFormed() ? undefined : { path: '', problem: ': expected text, got a lone surrogate in it' };
  }
  if (typeof value === 'number') {
    if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return undefined;
    const mend = 'got a larger one; send it as a string if the schema allows';
    return { path: '', problem: `: expected a number that JSON keeps exactly (up to 2^53 - 1), ${mend}` };
  }
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = inspect(value[index], count);
      if (fault !== undefined) return below(`[${index}]`, fault);
    }
    return undefined;
  }
  const object = value as { readonly [key: string]: Json };
  for (const key in object) {
    count.members++;
    if (FORBIDDEN_KEYS.has(key)) return { path: propertyPath('', key), problem: `: forbidden key; leave ${key} out` };
    if (!key.isWellFormed()) return { path: '', problem: ': a key holds a lone surrogate' };
    const fault = inspect(object[key] as Json, count);
    if (fault !== undefined) return below(key.length > 60 ? '.…' : propertyPath('', key), fault);
  }
  return undefined;
}

function below(segment: string, fault: Fault): Fault {
  fault.path = segment + fault.path;
  return fault;
}

/** Where JSON.parse stopped, and the text there. Engines say the position in some of their messages only. */
function placeOf(text: string, thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : '';
  if (text.trim() === '') return 'the text is empty';
  const position = /position (\d+)/.exec(message)?.[1];
  const token = /^Unexpected token '?(.)'?/u.exec(message)?.[1];
  const at = position !== undefined ? Number(position) : token !== undefined ? text.indexOf(token) : text.length;
  if (/end of JSON|Unterminated/.test(message) || at >= text.length) {
    return `the text ends too early, after ${excerpt(text.slice(-40))} (position ${text.length})`;
  }
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  return `unexpected text at line ${line}, column ${column} (position ${at}): ${excerpt(text.slice(Math.max(0, at - 20), at + 20))}`;
}

function excerpt(text: string): string {
  return JSON.stringify(short(text, 40).toWellFormed());
}
