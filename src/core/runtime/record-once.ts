import { type ErrorRecord, isA, isFatal, messageOf } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import { DEFAULTS } from '../values/limits.ts';
import { Guard, Stopped } from './guard.ts';
import type { Invocation } from './invocation.ts';
import type { Outcome } from './journal.ts';
import type { RunContext } from './run-context.ts';

/** As it is recorded. */
type Decided<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorRecord };

/**
 * What a function of the user's gave, decided once: its value or its failure is recorded, so that a resume and a replay have the
 * same. It counts as work while it runs, fails after 60 s, and when it ignores a stop it is abandoned after the grace. `work` gives
 * what JSON can hold.
 */
export async function recordOnce<T extends Json>(
  run: Pick<RunContext, 'activity' | 'stops' | 'graceMs' | 'journal'>,
  self: Invocation,
  key: string,
  name: string,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<Outcome<T>> {
  const propose = async (): Promise<Decided<T>> => {
    run.activity.busy(self, 1);
    const guard = new Guard(key, run.stops);
    try {
      return { ok: true, value: await guard.over(() => inTime(async () => work(guard.signal)), run.graceMs, false) };
    } catch (thrown) {
      if (isFatal(thrown) || isA(thrown, Stopped)) throw thrown;
      const kind = isA(thrown, TooLate) ? 'timeout' : 'threw';
      return { ok: false, error: { kind, message: `${name}: ${messageOf(thrown)}`, retryable: false } };
    } finally {
      run.activity.busy(self, -1);
    }
  };
  try {
    return await run.journal.once(key, self, propose);
  } catch (thrown) {
    if (!isA(thrown, Stopped)) throw thrown;
    const stop = run.stops.at(key);
    return stop === undefined ? { ok: false, error: thrown.record } : { ok: false, error: thrown.record, stop };
  }
}

class TooLate extends Error {}

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `did not settle within ${DEFAULTS.toolTimeoutMs / 1000} s`;
  const timer = setTimeout(() => reject(new TooLate(message)), DEFAULTS.toolTimeoutMs);
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
