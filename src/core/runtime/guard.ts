import type { ErrorRecord } from '../values/errors.ts';
import type { Stop } from '../values/status.ts';
import { LONGEST_TIMER_MS } from '../values/time.ts';
import { type Interruptible, type Stops, stopError } from './stops.ts';

/** A procedure's stop that came before it ended. */
export class Stopped extends Error {
  readonly stop: Stop;
  readonly record: ErrorRecord;
  constructor(stop: Stop) {
    super(stop.reason);
    this.stop = stop;
    this.record = stopError(stop);
  }
}

/** Watches over the user's code of a procedure: it has a signal, and when it ignores that it is abandoned after the grace. */
export class Guard implements Interruptible {
  readonly key: string;
  readonly #stops: Stops;
  #controller: AbortController | undefined;
  #stop: Stop | undefined;
  #abandon: (() => void) | undefined;

  constructor(key: string, stops: Stops) {
    this.key = key;
    this.#stops = stops;
  }

  /** Made when it is first read. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stop !== undefined) this.#controller.abort(abortReason(this.#stop));
    }
    return this.#controller.signal;
  }

  interrupt(stop: Stop): void {
    this.#stop = stop;
    this.#controller?.abort(abortReason(stop));
    this.#abandon?.();
  }

  /**
   * The work's own end, or `Stopped` when a stop came and the grace has passed. After a stop it does not begin; one that had
   * `begun` in an earlier epoch first reaches the point where it was, which takes no turn of the event loop.
   */
  async over<T>(work: () => Promise<T>, graceMs: number, begun: boolean): Promise<T> {
    const stop = this.#stops.at(this.key);
    if (stop !== undefined && !begun) throw new Stopped(stop);
    if (stop !== undefined) setImmediate(() => this.interrupt(stop));
    this.#stops.enter(this);
    let timer: NodeJS.Timeout | undefined;
    try {
      const { promise: abandoned, reject } = Promise.withResolvers<never>();
      this.#abandon = () => {
        timer ??= setTimeout(() => this.#stop && reject(new Stopped(this.#stop)), Math.min(graceMs, LONGEST_TIMER_MS));
      };
      return await Promise.race([work(), abandoned]);
    } finally {
      clearTimeout(timer);
      this.#abandon = undefined;
      this.#stops.leave(this);
    }
  }
}

export function abortReason(stop: Stop): DOMException {
  return new DOMException(stop.reason, stop.status === 'timeout' ? 'TimeoutError' : 'AbortError');
}
