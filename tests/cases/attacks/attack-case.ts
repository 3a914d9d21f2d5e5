import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tries } from '../../support/tries.ts';

/** One case, as its file holds it; the words are in WORDS.md beside the files. */
export interface AttackCase {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly platform: 'any' | 'posix' | 'linux';
  readonly needs: readonly string[];
  readonly setup: readonly Step[];
  readonly input: Words;
  readonly expect: { readonly outcome: string; readonly errorKind?: string; readonly checks?: readonly Check[] };
}

export type Words = { readonly [word: string]: unknown };
export type Step = { readonly op: string } & Words;
export type Check = { readonly check: string } & Words;

/** ATTACK_CASES, else beside the checkout. */
export function attackFolder(): string | undefined {
  const given = process.env.ATTACK_CASES;
  if (given !== undefined) return existsSync(given) ? given : undefined;
  const root = resolve(import.meta.dirname, '../../..');
  return ['../shared/attack-cases', '../../shared/attack-cases'].map((path) => resolve(root, path)).find(existsSync);
}

/** The cases of a kind; none where its file is missing. */
export function attackCases(folder: string, kind: string): readonly AttackCase[] {
  return everyCase(folder).get(kind) ?? [];
}

/** All cases of all files of a folder, by kind. */
export function everyCase(folder: string): ReadonlyMap<string, readonly AttackCase[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json') && !file.endsWith('.schema.json'));
  const read = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as { cases?: AttackCase[] });
  return Map.groupBy(read.flatMap(({ cases = [] }) => cases).map(shortened), ({ kind }) => kind);
}

/** A race makes all its tries in the long form alone. Of fewer as large a part must succeed, so it goes on to `most` where too few did. */
function shortened(it: AttackCase): AttackCase {
  const { tries: all } = it.input;
  if (typeof all !== 'number') return it;
  const few = tries(all, 1_000);
  const checks = it.expect.checks?.map((check) =>
    check.check === 'successes-at-least' ? { ...check, n: (Number(check.n) * few) / all } : check,
  );
  return { ...it, input: { ...it.input, tries: few, most: all }, expect: { ...it.expect, ...(checks && { checks }) } };
}

/** A case with its placeholders filled in and its generated values made. */
export function filled<T>(value: T, places: { readonly [name: string]: string }): T {
  return fill(value, places) as T;
}

function fill(value: unknown, places: { readonly [name: string]: string }): unknown {
  if (typeof value === 'string')
    return value.replace(/\{\{([A-Z_]+)\}\}/g, (whole, name: string) => places[name] ?? whole);
  if (Array.isArray(value)) return value.map((item) => fill(item, places));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, item]) => [key, fill(item, places)] as const);
  const object = Object.fromEntries(entries) as Words;
  return typeof object.generate === 'string' ? generated(object.generate, object) : object;
}

function generated(
  what: string,
  { count, depth, length, char = 'a', tail = '', key, open, close, wrap = '$' }: Words,
): unknown {
  switch (what) {
    case 'string': {
      const unit = String(char);
      const text = unit.repeat(Math.ceil(Number(length) / unit.length)).slice(0, Number(length)) + String(tail);
      return key === undefined ? text : JSON.stringify({ [String(key)]: text });
    }
    case 'keys':
      return JSON.stringify(
        Object.fromEntries(Array.from({ length: Number(count) }, (_, index) => [`key${index}`, index])),
      );
    case 'nest': {
      const nest = String(open).repeat(Number(depth)) + String(close).repeat(Number(depth));
      return String(wrap).replace('$', () => nest);
    }
    case 'range':
      return Array.from({ length: Number(count) }, (_, index) => index);
    default:
      return Array.from({ length: Number(count) }, (_, index) => what.replaceAll('{i}', String(index)));
  }
}
