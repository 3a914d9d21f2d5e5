/** Anything JSON can hold: what crosses the port, a record, a log line. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON text with sorted keys, so that equal values have equal texts (RFC 8785 without its number rules). */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  // A Date, for example, is its text: all of them would else be `{}`.
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonical(JSON.parse(JSON.stringify(value)));
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const object = value as { readonly [key: string]: unknown };
  const keys = Object.keys(object);
  if (keys.length > 1) keys.sort();
  let text = '';
  for (const key of keys) {
    const item = object[key];
    if (item !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${canonical(item)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** SHA-256 as 64 hex digits. */
export function sha256(text: string): string {
  // Loaded when it is first used: importing it costs more than all of the core.
  crypto ??= process.getBuiltinModule('node:crypto');
  return crypto.hash('sha256', text, 'hex');
}

let crypto: typeof import('node:crypto') | undefined;

/** Freezes a value and all it holds; returns it. Bytes are left alone: a view of a buffer cannot be frozen. */
export function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const item of Array.isArray(value) ? value : Object.values(value)) deepFreeze(item);
  return value;
}

/** A frozen copy of what is plain data in a value; anything else in it (a Date, say) is left as it is. */
export function frozenCopy<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  if (!isPlainObject(value)) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozenCopy(item)]))) as T;
}

/** What is plain data: an object literal or one without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
