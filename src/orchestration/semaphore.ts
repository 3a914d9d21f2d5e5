import pLimit, { type LimitFunction } from 'p-limit';

/** Who waits for a place: a stop lets it go on without one. */
export interface Waiter {
  readonly stop: unknown;
  onStop?: (() => void) | undefined;
}

/** p-limit as a semaphore: its task resolves with its own release, so that a place can be given back before the work ends. */
export class Semaphore {
  readonly #limit: LimitFunction;

  constructor(places: number) {
    this.#limit = pLimit(places);
  }

  /** The release of a place, or undefined where a stop came first. Over the limit means queue, not refuse. */
  acquire(waiter: Waiter): Promise<(() => void) | undefined> {
    if (waiter.stop !== undefined) return Promise.resolve(undefined);
    return new Promise((granted) => {
      waiter.onStop = () => granted(undefined);
      void this.#limit(() => {
        if (waiter.stop !== undefined) return undefined;
        return new Promise<void>((release) => granted(release));
      });
    });
  }
}
