import type { Json } from './json.ts';

/** One step of a JSON Pointer as a URI fragment has it (RFC 6901, sections 3 and 6): without a blank, so that it can stand in a text. */
export function pointerStep(key: string | number): string {
  if (typeof key === 'number') return `/${key}`;
  const plain = key.toWellFormed().replace(/[\s%\p{C}]/gu, encodeURIComponent);
  return `/${plain.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What a pointer of such steps leads to; undefined where there is nothing. */
export function atPointer(value: Json, pointer: string): Json | undefined {
  let at: Json | undefined = value;
  for (const step of pointer.split('/').slice(1)) at = memberOf(at, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return at;
}

function memberOf(value: Json | undefined, step: string): Json | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  const name = decoded(step);
  return Object.hasOwn(value, name) ? (value as { readonly [name: string]: Json })[name] : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `$.a` and `b-c` give `$.a["b-c"]`. */
export function propertyPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
