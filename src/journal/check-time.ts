import { ConfigurationError } from '../core/errors.ts';
import { shown } from '../core/options.ts';

/** A time in milliseconds since 1970; Infinity is after all. */
export function checkTime(before: unknown): void {
  if (typeof before === 'number' && !Number.isNaN(before)) return;
  throw new ConfigurationError('before', `got ${shown(before)}`, 'Give a time in milliseconds since 1970.');
}
