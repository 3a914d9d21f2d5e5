import { ModelError } from '../../core/values/errors.ts';

/** Watches over one call: the caller's signal, the whole time, and the time without progress. */
export class Watch {
  readonly #caller: AbortSignal;
  readonly #controller = new AbortController();
  readonly #whole: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #idleMs: number | undefined;
  #ended: { readonly reason: unknown } | undefined;
  #reject: ((reason: unknown) => void) | undefined;

  constructor(caller: AbortSignal, timeoutMs: number, idleTimeoutMs: number | undefined) {
    this.#caller = caller;
    this.#idleMs = idleTimeoutMs;
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
    this.#whole = setTimeout(tooLong, timeoutMs, this, timeoutMs);
    if (idleTimeoutMs !== undefined) this.#idle = setTimeout(tooQuiet, idleTimeoutMs, this, idleTimeoutMs);
  }

  /** Aborted when the call must end, for whatever reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the call was ended from here: the caller's reason, or a timeout. */
  get ended(): { readonly reason: unknown } | undefined {
    return this.#ended;
  }

  /** Rejects as soon as the call must end, whatever `work` does. Once a watch. */
  race<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(this.#ended.reason);
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  /** The answer moved on. */
  progress(): void {
    this.#idle?.refresh();
  }

  /** From now on silence of `ms` is long enough. */
  expectLast(ms: number): void {
    if (this.#idleMs !== undefined && this.#idleMs <= ms) return;
    clearTimeout(this.#idle);
    this.#idleMs = ms;
    this.#idle = setTimeout(tooQuiet, ms, this, ms);
  }

  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#reject?.(this.#ended.reason);
    this.#controller.abort(reason);
  }

  /** Ends the watch, and with `abort` the request as well. */
  stop(abort: boolean): void {
    this.#caller.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#whole);
    clearTimeout(this.#idle);
    if (abort) this.#controller.abort();
  }

  readonly #onAbort = () => this.end(this.#caller.reason);
}

function tooLong(watch: Watch, ms: number): void {
  watch.end(new ModelError('timeout', `the model call took longer than ${ms} ms`));
}

function tooQuiet(watch: Watch, ms: number): void {
  watch.end(new ModelError('timeout', `the answer made no progress for ${ms} ms`));
}
