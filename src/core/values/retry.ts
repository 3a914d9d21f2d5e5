import type { ErrorRecord } from './errors.ts';
import { DEFAULTS } from './limits.ts';
import type { RetryOptions } from './model.ts';

/** Share of a wait by which it may be shorter or longer, so that calls that failed together do not come back together. */
const JITTER = 0.25;

/**
 * How long to wait before a failed call is repeated, in milliseconds; undefined where it is not.
 *
 * A wait that the provider asks for is kept as it is (RFC 9110 §10.2.3), unless it is longer than `maxRetryAfterMs`:
 * then the call fails at once. Else the waits double from `baseMs`, give or take a quarter, and never pass `capMs`.
 *
 * @param attempt the attempt that failed, counted from 1
 * @param random 0 ≤ x < 1
 * @example retryDelay({ retryable: true }, 2, { baseMs: 1000 }, 0.5) // 2000
 */
export function retryDelay(
  error: Pick<ErrorRecord, 'retryable'> & { readonly retryAfterMs?: number | undefined },
  attempt: number,
  options: RetryOptions = {},
  random: number = Math.random(),
): number | undefined {
  const {
    retries = DEFAULTS.retry.retries,
    baseMs = DEFAULTS.retry.baseMs,
    capMs = DEFAULTS.retry.capMs,
    maxRetryAfterMs = DEFAULTS.retry.maxRetryAfterMs,
  } = options;
  if (!error.retryable || attempt > retries) return undefined;
  if (error.retryAfterMs !== undefined && error.retryAfterMs > 0) {
    return error.retryAfterMs > maxRetryAfterMs ? undefined : error.retryAfterMs;
  }
  const doubled = baseMs * 2 ** (attempt - 1);
  return Math.min(capMs, doubled * (1 - JITTER + 2 * JITTER * random));
}
