import { ConfigurationError } from './errors.ts';
import { isPlainObject } from './json.ts';

/** Refuses what is no options object and every option that is not in `known`: an option is never ignored. */
export function checkOptions(
  field: string,
  options: unknown,
  known: readonly string[],
  notBuilt: readonly string[] = [],
): void {
  if (!isPlainObject(options)) {
    throw new ConfigurationError(
      field,
      `expected an object, got ${shown(options)}`,
      `Options are ${known.join(', ')}.`,
    );
  }
  for (const key of Object.keys(options)) {
    if (known.includes(key) || options[key] === undefined) continue;
    if (notBuilt.includes(key)) {
      throw new ConfigurationError(`${field}.${key}`, 'this option is not built yet', 'Leave it out.');
    }
    throw new ConfigurationError(`${field}.${key}`, 'unknown option', `Options are ${known.join(', ')}.`);
  }
}

/** A whole number within bounds; Infinity is refused everywhere. */
export function checkWhole(field: string, value: unknown, min: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= min)) return;
  throw new ConfigurationError(
    field,
    `expected a whole number ≥ ${min}, got ${shown(value)}`,
    'Leave it out for the default.',
  );
}

/** A finite number greater than zero. */
export function checkPositive(field: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value > 0)) return;
  throw new ConfigurationError(
    field,
    `expected a finite number > 0, got ${shown(value)}`,
    'Leave it out for the default.',
  );
}

export function checkOneOf(field: string, value: unknown, allowed: readonly unknown[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw new ConfigurationError(
    field,
    `got ${shown(value)}`,
    `Write one of ${allowed.map((item) => shown(item)).join(', ')}.`,
  );
}

export function checkFunction(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new ConfigurationError(field, `expected a function, got ${shown(value)}`, 'Pass a function or leave it out.');
}

export function checkText(field: string, value: unknown, mend: string): asserts value is string {
  if (typeof value === 'string' && value.trim() !== '') return;
  throw new ConfigurationError(field, `expected text, got ${shown(value)}`, mend);
}

/** Who asks, with a password mostly, in a text that may be an address. */
const CREDENTIALS = /\/\/[^/?#\s]*@/g;

/** A value in an error message: short, without the credentials of an address, and never the content of an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    const text = value.replaceAll(CREDENTIALS, '//…@');
    return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? 'a function' : String(value);
  return Array.isArray(value) ? 'an array' : 'an object';
}
