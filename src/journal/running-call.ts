import type { SpanHandle } from '../core/contract/instrument.ts';
import { abortReason } from '../core/runtime/guard.ts';
import type { Attempt, Call, Outcome, Work } from '../core/runtime/journal.ts';
import { type Interruptible, stopError, stopped } from '../core/runtime/stops.ts';
import { ConfigurationError, type ErrorRecord, isA, isFatal } from '../core/values/errors.ts';
import type { Stop } from '../core/values/status.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';

/** One call under way, from its start to its outcome: its signal, its timeout, its stop, its abandonment. */
export class RunningCall<T> implements Interruptible, Work, Attempt {
  readonly key: string;
  number = 1;
  stop: Stop | undefined;
  holdsSlot = false;
  reserved: Work['reserved'];
  spent: Work['spent'];
  onStop: (() => void) | undefined;
  readonly #call: Call<T>;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #interrupted: ErrorRecord | undefined;
  #resolve: ((outcome: Outcome<T>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(call: Call<T>) {
    this.key = call.key;
    this.#call = call;
  }

  /** Made when it is first read: most calls never look. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#interrupted !== undefined) this.#abort();
    }
    return this.#controller.signal;
  }

  get isLive(): boolean {
    return this.#resolve !== undefined;
  }

  interrupt(stop: Stop): void {
    this.stop = stop;
    this.#interruptWith(stopError(stop));
    this.onStop?.();
  }

  /** One attempt. Its value counts also when it comes after a stop: what happened is a fact. */
  attempt(number: number, handle: SpanHandle | undefined): Promise<Outcome<T>> {
    // A listener of the start may have stopped it.
    const { stop } = this;
    if (stop !== undefined) return Promise.resolve(stopped(stop));
    this.number = number;
    this.#controller = undefined;
    this.#interrupted = undefined;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      try {
        const value = handle === undefined ? this.#call.execute(this) : handle.run(() => this.#call.execute(this));
        if (!(value instanceof Promise)) return this.#done(value);
        value.then(this.#done, this.#threw);
        if (this.#interrupted === undefined)
          this.#timer = setTimeout(timedOut, Math.min(this.#call.timeoutMs, LONGEST_TIMER_MS), this);
      } catch (thrown) {
        this.#threw(thrown);
      }
    });
  }

  readonly #done = (value: T) => this.#end({ ok: true, value });

  readonly #threw = (thrown: unknown) => {
    // A model that cannot work at all (its SDK is missing) is the caller's mistake, not the provider's.
    if (this.#call.kind === 'model' && isA(thrown, ConfigurationError)) return this.#fail(thrown);
    // The infrastructure of a detached child is that of its parent too.
    if (this.#call.kind === 'child' && isFatal(thrown)) return this.#fail(thrown);
    if (this.#interrupted === undefined) this.#end({ ok: false, error: this.#call.failure(thrown) });
    else this.#end(this.#failed(this.#interrupted, 'failed'));
  };

  timeOut(): void {
    const seconds = this.#call.timeoutMs / 1000;
    this.#interruptWith({
      kind: 'timeout',
      message: `timed out after ${seconds} s`,
      retryable: this.#call.kind === 'model',
    });
  }

  /** Waits between two attempts; a stop ends it. */
  pause(ms: number): Promise<void> {
    // A listener of the retry may have stopped it.
    if (this.stop !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
      this.onStop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Tells the work to stop. Work that never looked at its signal and changes nothing is abandoned at once, the rest after the grace. */
  #interruptWith(error: ErrorRecord): void {
    if (this.#resolve === undefined || this.#interrupted !== undefined) return;
    this.#interrupted = error;
    clearTimeout(this.#timer);
    const ignoresSignal = this.#controller === undefined && this.#call.sideEffect === 'none';
    this.#timer = setTimeout(abandon, ignoresSignal ? 0 : Math.min(this.#call.graceMs, LONGEST_TIMER_MS), this);
    this.#abort();
  }

  #abort(): void {
    const kind = this.stop?.status ?? 'timeout';
    this.#controller?.abort(abortReason({ status: kind, reason: this.#interrupted?.message ?? kind }));
  }

  abandon(): void {
    if (this.#interrupted !== undefined) this.#end(this.#failed(this.#interrupted, ABANDONED));
  }

  /** The outcome of interrupted unsafe work is unknown, not failed. */
  #failed(error: ErrorRecord, how: string): Outcome<T> {
    const stop = this.stop;
    if (this.#call.sideEffect === 'unsafe') {
      const message = `${error.message}; the call ${how}, whether it took effect is unknown`;
      return { ok: false, error: { kind: 'unknown_outcome', message, retryable: false }, ...(stop && { stop }) };
    }
    const isAbandoned = how === ABANDONED && this.#call.kind === 'tool';
    const message = `${error.message}; the call did not heed its signal and ${how}`;
    return { ok: false, error: isAbandoned ? { ...error, message } : error, ...(stop && { stop }) };
  }

  #fail(error: unknown): void {
    const reject = this.#resolve && this.#reject;
    this.#resolve = undefined;
    clearTimeout(this.#timer);
    reject?.(error);
  }

  #end(outcome: Outcome<T>): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    resolve(outcome);
  }
}

const ABANDONED = 'was abandoned';

function timedOut(call: { timeOut(): void }): void {
  call.timeOut();
}

function abandon(call: { abandon(): void }): void {
  call.abandon();
}
