import type { Call, Layer, Outcome, Work } from '../core/journal.ts';
import { Semaphore } from './semaphore.ts';

/** One for the whole tree: places are held by leaf effects only, so nesting cannot deadlock. */
export class Limiter implements Layer {
  readonly #concurrency: number;
  #places: Semaphore | undefined;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  async enter(_call: Call<never>, work: Work): Promise<undefined> {
    this.#places ??= new Semaphore(this.#concurrency);
    work.release = await this.#places.acquire(work);
    work.onStop = undefined;
  }

  leave(_call: Call<never>, _outcome: Outcome, work: Work): void {
    work.release?.();
    work.release = undefined;
  }
}
