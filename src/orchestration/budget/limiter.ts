import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Call, Layer, Outcome, Work } from '../../core/runtime/journal.ts';
import { FairQueue } from './fair-queue.ts';

interface Waiter {
  readonly enter: () => void;
  /** A stop let it continue without a slot. */
  isGone: boolean;
}

/**
 * One for the whole tree: only leaf effects take slots, so nesting cannot deadlock. Over the limit means queue, not
 * refuse; the queue is fair between the branches of the tree.
 */
export class Limiter implements Layer {
  #free: number;
  readonly #queue = new FairQueue<Waiter>();

  constructor(concurrency: number) {
    this.#free = concurrency;
  }

  enter(call: Call<never>, work: Work): undefined | Promise<undefined> {
    // While a slot is free nothing waits.
    if (this.#free === 0) return this.#wait(call.self, work);
    this.#free -= 1;
    work.holdsSlot = true;
    return undefined;
  }

  async #wait(self: Invocation, work: Work): Promise<undefined> {
    // `onStop` is not called for a stop that came before.
    if (work.stop !== undefined) return;
    work.holdsSlot = await new Promise<boolean>((resolve) => {
      const waiter: Waiter = { enter: () => resolve(true), isGone: false };
      work.onStop = () => {
        waiter.isGone = true;
        resolve(false);
      };
      this.#queue.push(waiter, self);
    });
    work.onStop = undefined;
  }

  leave(_call: Call<never>, _outcome: Outcome, work: Work): void {
    if (!work.holdsSlot) return;
    work.holdsSlot = false;
    let next = this.#queue.shift();
    while (next?.isGone) next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next.enter();
  }
}
