import type { Outcome } from '../core/runtime/journal.ts';
import { type Interruptible, type Stops, stopped } from '../core/runtime/stops.ts';
import type { Stop } from '../core/values/status.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';

/** A timer of a procedure; a stop ends it early. One that is longer than a timer holds runs in parts. */
export class Sleeper implements Interruptible {
  readonly key: string;
  readonly #stops: Stops;
  /** In milliseconds since 1970. */
  readonly #deadline: number;
  /** The same by a clock that nobody sets: where the other is set back, it still ends in time. */
  readonly #due: number;
  #timer: NodeJS.Timeout | undefined;
  #wake: ((outcome: Outcome<null>) => void) | undefined;

  constructor(key: string, stops: Stops, deadline: number) {
    this.key = key;
    this.#stops = stops;
    this.#deadline = deadline;
    this.#due = performance.now() + deadline - Date.now();
  }

  sleep(): Promise<Outcome<null>> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#stops.enter(this);
      this.#tick();
    });
  }

  interrupt(stop: Stop): void {
    this.#end(stopped(stop));
  }

  #tick(): void {
    const left = Math.min(this.#deadline - Date.now(), this.#due - performance.now());
    if (left <= 0) this.#end({ ok: true, value: null });
    else this.#timer = setTimeout(() => this.#tick(), Math.min(left, LONGEST_TIMER_MS));
  }

  #end(outcome: Outcome<null>): void {
    clearTimeout(this.#timer);
    this.#stops.leave(this);
    this.#wake?.(outcome);
    this.#wake = undefined;
  }
}
