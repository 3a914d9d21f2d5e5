import pLimit, { type LimitFunction } from 'p-limit';

/** What waits for a slot: a stop lets it continue without one. */
export interface Waiter {
  readonly stop: unknown;
  onStop?: (() => void) | undefined;
}

/**
 * A number of slots. While one is free it is taken at once; waiters queue at p-limit in the order they came, and the first of them
 * gets the next slot that is given back. Over the limit means queue, not refuse.
 */
export class Semaphore {
  #free: number;
  #queue: LimitFunction | undefined;
  /** Gives the first in the queue the slot that was given back. */
  #admitFirst: (() => void) | undefined;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** True where a slot was free and nothing waits; it is then taken. */
  take(): boolean {
    const queue = this.#queue;
    if (queue !== undefined && queue.activeCount + queue.pendingCount > 0) return false;
    return this.#takeFree();
  }

  /** Waits for a slot: true when it is taken, false where a stop came first. */
  wait(waiter: Waiter): Promise<boolean> {
    // `onStop` is not called for a stop that came before.
    if (waiter.stop !== undefined) return Promise.resolve(false);
    this.#queue ??= pLimit(1);
    const queue = this.#queue;
    return new Promise((resolve) => {
      waiter.onStop = () => resolve(false);
      void queue(() => {
        if (waiter.stop !== undefined) return undefined;
        if (this.#takeFree()) return resolve(true);
        return this.#waitFirst(waiter, resolve);
      });
    });
  }

  /** Gives a slot back. */
  give(): void {
    const admit = this.#admitFirst;
    this.#admitFirst = undefined;
    if (admit === undefined) this.#free += 1;
    else admit();
  }

  #takeFree(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Waits as the first of the queue; resolves when the waiter has a slot, or was stopped. */
  #waitFirst(waiter: Waiter, resolve: (taken: boolean) => void): Promise<void> {
    return new Promise((leave) => {
      const enter = () => {
        resolve(true);
        leave();
      };
      waiter.onStop = () => {
        if (this.#admitFirst === enter) this.#admitFirst = undefined;
        resolve(false);
        leave();
      };
      this.#admitFirst = enter;
    });
  }
}
