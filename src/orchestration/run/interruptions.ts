const FIRST_MS = 250;
const LONGEST_MS = 30_000;
/** How often in a row it may be interrupted and not get on: about two minutes. */
const MOST = 10;

/** How often a detached child was interrupted where it runs (a shutdown there), and when it is taken up again. */
export class Interruptions {
  #furthest = 0;
  #inVain = 0;

  /** The pause before that, in milliseconds: longer each time it did not get on. Undefined where it never does. */
  pauseMs({ steps, toolCalls }: { readonly steps: number; readonly toolCalls: number }): number | undefined {
    const reached = steps + toolCalls;
    this.#inVain = reached > this.#furthest ? 1 : this.#inVain + 1;
    this.#furthest = Math.max(this.#furthest, reached);
    return this.#inVain > MOST ? undefined : Math.min(FIRST_MS * 2 ** (this.#inVain - 1), LONGEST_MS);
  }
}
