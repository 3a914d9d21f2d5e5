import { ModelError } from '../core/errors.ts';

/** Watches over one call: the caller's signal, the whole time, and the time without progress. */
export interface Watch {
  /** Aborted when the call must end, for whatever reason. */
  readonly signal: AbortSignal;
  /** Why the call was ended from here: the caller's reason, or a timeout. */
  readonly ended: { readonly reason: unknown } | undefined;
  /** Rejects as soon as the call must end, whatever `work` does. */
  race<T>(work: Promise<T>): Promise<T>;
  /** The answer moved on. */
  progress(): void;
  /** From now on silence of `ms` is long enough. */
  expectLast(ms: number): void;
  /** Ends the watch, and with `abort` the request as well. */
  stop(abort?: boolean): void;
}

export function startWatch(caller: AbortSignal, timeoutMs: number, idleTimeoutMs: number | undefined): Watch {
  const controller = new AbortController();
  let ended: { reason: unknown } | undefined;
  let idleMs = idleTimeoutMs;
  const end = (reason: unknown) => {
    ended ??= { reason };
    controller.abort(reason);
  };
  const onAbort = () => end(caller.reason);
  const tooLong = () => end(new ModelError('timeout', `the model call took longer than ${timeoutMs} ms`));
  const tooQuiet = () => end(new ModelError('timeout', `the answer made no progress for ${idleMs} ms`));

  if (caller.aborted) onAbort();
  else caller.addEventListener('abort', onAbort, { once: true });
  const whole = setTimeout(tooLong, timeoutMs);
  let idle = idleMs === undefined ? undefined : setTimeout(tooQuiet, idleMs);

  return {
    signal: controller.signal,
    get ended() {
      return ended;
    },
    race: (work) =>
      new Promise((resolve, reject) => {
        const { signal } = controller;
        const onEnd = () => reject(ended?.reason);
        if (signal.aborted) onEnd();
        else signal.addEventListener('abort', onEnd, { once: true });
        work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onEnd));
      }),
    progress: () => idle?.refresh(),
    expectLast(ms) {
      if (idle === undefined || idleMs === undefined || idleMs <= ms) return;
      clearTimeout(idle);
      idleMs = ms;
      idle = setTimeout(tooQuiet, ms);
    },
    stop(abort = false) {
      caller.removeEventListener('abort', onAbort);
      clearTimeout(whole);
      clearTimeout(idle);
      if (abort) controller.abort();
    },
  };
}
