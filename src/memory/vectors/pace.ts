/** How often both methods are tried in turn at first, and after how many scans the slower one is tried again. */
const TRIALS = 8;
const AGAIN = 32;
/** Weight of the newest measure. */
const NEWEST = 0.3;

/**
 * Whether threads make scans faster on this machine at this time: where other work keeps its processors busy, they make them
 * slower. Decided by what scans of both kinds took.
 */
export class Pace {
  #scans = 0;
  /** Milliseconds a byte, newer scans weighing more; undefined where there was none. */
  #alone: number | undefined;
  #together: number | undefined;

  /** True where the next scan is to be shared with threads. */
  next(): boolean {
    this.#scans += 1;
    if (this.#alone === undefined || this.#together === undefined || this.#scans <= TRIALS)
      return this.#scans % 2 === 0;
    const isFaster = this.#together < this.#alone;
    return this.#scans % AGAIN === 0 ? !isFaster : isFaster;
  }

  took(together: boolean, ms: number, bytes: number): void {
    const pace = ms / bytes;
    const before = together ? this.#together : this.#alone;
    const now = before === undefined ? pace : before * (1 - NEWEST) + pace * NEWEST;
    if (together) this.#together = now;
    else this.#alone = now;
  }
}
