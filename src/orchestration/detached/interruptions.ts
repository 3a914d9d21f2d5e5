const FIRST_MS = 250;
const LONGEST_MS = 30_000;
/** How often in a row it may be interrupted without progress: about two minutes. */
const MAX = 10;

/** Counts how often a detached child was interrupted where it runs (a shutdown there), and paces its restarts. */
export class Interruptions {
  #furthest = 0;
  #withoutProgress = 0;

  /** The pause before the next restart, in milliseconds: longer after each without progress. Undefined after too many. */
  pauseMs({ steps, toolCalls }: { readonly steps: number; readonly toolCalls: number }): number | undefined {
    const reached = steps + toolCalls;
    this.#withoutProgress = reached > this.#furthest ? 1 : this.#withoutProgress + 1;
    this.#furthest = Math.max(this.#furthest, reached);
    return this.#withoutProgress > MAX ? undefined : Math.min(FIRST_MS * 2 ** (this.#withoutProgress - 1), LONGEST_MS);
  }
}
