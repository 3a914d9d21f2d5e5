import { ConfigurationError } from '../core/values/errors.ts';
import { shown } from '../core/values/options.ts';

/** A time in milliseconds since 1970; Infinity is after all. */
export function checkTime(before: unknown): void {
  if (typeof before === 'number' && !Number.isNaN(before)) return;
  throw new ConfigurationError('before', `got ${shown(before)}`, 'Give a time in milliseconds since 1970.');
}
