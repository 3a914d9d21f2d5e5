import { LONGEST_TIMER_MS } from '../core/time.ts';

/** A deadline that counts working time: it stands still while every branch waits for a person. */
export class WorkClock {
  #left: number;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #expired: () => void;

  constructor(ms: number, expired: () => void) {
    this.#left = ms;
    this.#expired = expired;
    this.run();
  }

  run(): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expired, Math.min(Math.max(0, this.#left), LONGEST_TIMER_MS));
  }

  pause(): void {
    if (this.#since === undefined) return;
    clearTimeout(this.#timer);
    this.#left -= performance.now() - this.#since;
    this.#since = undefined;
  }
}
