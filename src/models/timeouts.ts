import { DEFAULTS } from '../core/values/limits.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';

/** The timeouts of an adapter, in milliseconds. A longer one than a timer can have would fire at once. */
export function timeouts({
  timeoutMs = DEFAULTS.modelTimeoutMs,
  idleTimeoutMs = DEFAULTS.modelIdleTimeoutMs,
}: {
  readonly timeoutMs?: number | undefined;
  readonly idleTimeoutMs?: number | undefined;
}): { readonly timeoutMs: number; readonly idleTimeoutMs: number } {
  return {
    timeoutMs: Math.min(timeoutMs, LONGEST_TIMER_MS),
    idleTimeoutMs: Math.min(idleTimeoutMs, LONGEST_TIMER_MS),
  };
}
