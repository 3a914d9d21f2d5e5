import type { Invocation } from '../../core/runtime/invocation.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import type { Parkable } from './activity.ts';

/** The end of an invocation's working time. It stands still while all below it waits for a person. */
export class Deadline implements Parkable {
  readonly self: Invocation;
  parked = false;
  readonly #run: { expire(self: Invocation, reason: string): void };
  readonly #timeMs: number;
  #left: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `worked` is what earlier epochs took, in milliseconds. */
  constructor(self: Invocation, timeMs: number, run: { expire(self: Invocation, reason: string): void }, worked = 0) {
    this.self = self;
    this.#run = run;
    this.#timeMs = timeMs;
    this.#left = timeMs - worked;
    this.unpark();
  }

  unpark(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(expire, Math.min(Math.max(0, this.#left), LONGEST_TIMER_MS), this);
  }

  park(): void {
    clearTimeout(this.#timer);
    this.#left -= performance.now() - this.#since;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  expire(): void {
    this.#run.expire(this.self, `The time limit of ${this.#timeMs} ms is reached.`);
  }
}

function expire(deadline: Deadline): void {
  deadline.expire();
}
