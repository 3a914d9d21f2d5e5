import type { Call, Layer, Outcome, Work } from '../core/journal.ts';
import { Semaphore } from './semaphore.ts';

/** One for the whole tree: places are held by leaf effects only, so nesting cannot deadlock. */
export class Limiter implements Layer {
  readonly #places: Semaphore;

  constructor(concurrency: number) {
    this.#places = new Semaphore(concurrency);
  }

  enter(_call: Call<never>, work: Work): undefined | Promise<undefined> {
    if (!this.#places.take()) return this.#wait(work);
    work.holdsPlace = true;
    return undefined;
  }

  async #wait(work: Work): Promise<undefined> {
    work.holdsPlace = await this.#places.wait(work);
    work.onStop = undefined;
  }

  leave(_call: Call<never>, _outcome: Outcome, work: Work): void {
    if (!work.holdsPlace) return;
    work.holdsPlace = false;
    this.#places.give();
  }
}
