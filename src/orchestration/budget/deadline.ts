import type { Invocation } from '../../core/runtime/invocation.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import type { Parkable } from './activity.ts';

/** What a deadline uses of its run. */
export interface DeadlineParts {
  readonly isReplay: boolean;
  /** `worked` is the time that earlier epochs took, in milliseconds. */
  readonly history: { worked(path: string): number | undefined } | undefined;
  readonly cancellation: Expiry;
}

interface Expiry {
  expire(self: Invocation, reason: string): void;
}

/** The deadline of an invocation; undefined where it has none, and in a replay. */
export function deadlineOf(run: DeadlineParts, self: Invocation, timeMs = self.limits.timeMs): Deadline | undefined {
  if (timeMs === undefined || run.isReplay) return undefined;
  return new Deadline(self, timeMs, run.cancellation, run.history?.worked(self.path));
}

/** Ends an invocation after its working time. The clock stops while all below it waits for a person. */
export class Deadline implements Parkable {
  readonly self: Invocation;
  parked = false;
  readonly #expiry: Expiry;
  readonly #timeMs: number;
  #remainingMs: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `worked` is what earlier epochs took, in milliseconds. */
  constructor(self: Invocation, timeMs: number, expiry: Expiry, worked = 0) {
    this.self = self;
    this.#expiry = expiry;
    this.#timeMs = timeMs;
    this.#remainingMs = timeMs - worked;
    this.unpark();
  }

  unpark(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(expire, Math.min(Math.max(0, this.#remainingMs), LONGEST_TIMER_MS), this);
  }

  park(): void {
    clearTimeout(this.#timer);
    this.#remainingMs -= performance.now() - this.#since;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  expire(): void {
    this.#expiry.expire(this.self, `The time limit of ${this.#timeMs} ms is reached.`);
  }
}

function expire(deadline: Deadline): void {
  deadline.expire();
}
