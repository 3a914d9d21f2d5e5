import pLimit, { type LimitFunction } from 'p-limit';

/** Who waits for a slot: a stop lets it go on without one. */
export interface Waiter {
  readonly stop: unknown;
  onStop?: (() => void) | undefined;
}

/**
 * A number of slots. While one is free it is taken at once; those who must wait queue at p-limit in the order they came, and
 * the first of them stands at the door until a slot is given back. Over the limit means queue, not refuse.
 */
export class Semaphore {
  #free: number;
  #queue: LimitFunction | undefined;
  /** Lets the first in the queue in, with the slot that was given back. */
  #admitFirst: (() => void) | undefined;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** True where a slot was free and nobody waits; it is then taken. */
  take(): boolean {
    const queue = this.#queue;
    if (queue !== undefined && queue.activeCount + queue.pendingCount > 0) return false;
    return this.#takeFree();
  }

  /** Waits for a slot: true when it is taken, false where a stop came first. */
  wait(waiter: Waiter): Promise<boolean> {
    // A stop that came just before is not told again.
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

  give(): void {
    const door = this.#admitFirst;
    this.#admitFirst = undefined;
    if (door === undefined) this.#free += 1;
    else door();
  }

  #takeFree(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Resolves when the waiter has left the door, with a slot or without. */
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
