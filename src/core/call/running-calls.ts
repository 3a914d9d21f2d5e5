import type { Stops } from '../runtime/stops.ts';
import { ConfigurationError, isA, isFatal, ToolError } from '../values/errors.ts';

/** A call that runs. Its key is empty until it has begun. */
export interface At {
  key: string;
}

const NOT_AWAITED = 'The procedure ended without waiting for it.';

/** What a procedure's code began and may not have waited for. */
export class RunningCalls {
  readonly #calls = new Map<Promise<unknown>, At>();
  #isOver = false;
  #fatal: { readonly thrown: unknown } | undefined;
  readonly #stops: Stops;

  constructor(stops: Stops) {
    this.#stops = stops;
  }

  /** True for what this code did not wait for when it ran before: it ended after the code, so the code never gets its result. */
  isAbandoned(key: string): boolean {
    return this.#stops.of(key)?.reason === NOT_AWAITED;
  }

  /** A branch that the code does not wait for is no unhandled rejection: the tree and the records say how it ended. */
  begin<T>(work: (at: At) => Promise<T>): Promise<T> {
    if (this.#isOver) return Promise.reject(new ToolError('denied', 'The procedure that asks for this is over.'));
    const at = { key: '' };
    const running = work(at);
    this.#calls.set(running, at);
    void this.#follow(running);
    return this.isAbandoned(at.key) ? new Promise(() => {}) : running;
  }

  async #follow(running: Promise<unknown>): Promise<void> {
    try {
      await running;
    } catch (thrown) {
      if (isFatal(thrown) && !isA(thrown, ConfigurationError)) this.#fatal ??= { thrown };
    }
    this.#calls.delete(running);
  }

  /**
   * Stops what is still running, each call by itself (a resume runs the code again and stops what was stopped), and waits
   * for it. Nothing begins after it. Rejects where infrastructure failed, also where the code caught that.
   */
  async close(cancel: (key: string, reason: string) => void): Promise<void> {
    this.#isOver = true;
    if (this.#calls.size > 0) {
      for (const { key } of this.#calls.values()) if (key !== '') cancel(key, NOT_AWAITED);
      await Promise.allSettled(this.#calls.keys());
    }
    if (this.#fatal !== undefined) throw this.#fatal.thrown;
  }
}
