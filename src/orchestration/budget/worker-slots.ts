import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { Stop } from '../../core/values/status.ts';
import type { Activity, Parkable } from './activity.ts';
import { Semaphore } from './semaphore.ts';

/** A worker's slot among those of its supervisor that run at once. */
class Slot implements Parkable {
  parked = false;
  readonly self: Invocation;
  readonly #slots: Semaphore;
  #isTaken = false;
  #taking: Promise<void> | undefined;

  constructor(self: Invocation, slots: Semaphore) {
    this.self = self;
    this.#slots = slots;
  }

  /** Calls that continue at once after the same wait share one taking. */
  take(stops: Stops): Promise<void> {
    this.#taking ??= this.#take(stops).finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  async #take(stops: Stops): Promise<void> {
    const waiter = {
      key: this.self.path,
      stop: stops.at(this.self.path),
      onStop: undefined as (() => void) | undefined,
      interrupt(stop: Stop) {
        waiter.stop = stop;
        waiter.onStop?.();
      },
    };
    stops.enter(waiter);
    this.#isTaken = this.#slots.take() || (await this.#slots.wait(waiter));
    stops.leave(waiter);
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** While all below it waits for a person, another worker may have the slot. */
  park(): void {
    if (this.#isTaken) this.#slots.give();
    this.#isTaken = false;
  }

  unpark(): void {}
}

/** The slots of every supervisor, and of every fan-out of code, in a run. */
export class WorkerSlots {
  readonly #activity: Activity;
  readonly #stops: Stops;
  readonly #byOwner = new WeakMap<object, Semaphore>();
  readonly #taken = new WeakMap<Invocation, readonly Slot[]>();

  constructor(activity: Activity, stops: Stops) {
    this.#activity = activity;
    this.#stops = stops;
  }

  /** Takes one slot of each owner: a supervisor, a fan-out of code. In the order given, so that no two wait for each other. */
  async take(
    self: Invocation,
    owners: readonly { readonly of: object; readonly concurrency: number }[],
  ): Promise<void> {
    const taken = owners.map(({ of, concurrency }) => {
      const slots = this.#byOwner.get(of) ?? new Semaphore(concurrency);
      this.#byOwner.set(of, slots);
      return new Slot(self, slots);
    });
    for (const slot of taken) await slot.take(this.#stops);
    this.#taken.set(self, taken);
    for (const slot of taken) this.#activity.add(slot);
  }

  give(self: Invocation): void {
    const taken = this.#taken.get(self) ?? [];
    this.#taken.delete(self);
    for (const slot of taken) {
      this.#activity.remove(slot);
      slot.park();
    }
  }

  /** After a person's answer: those above that gave their slot back take one again, the outermost first. */
  async retake(self: Invocation): Promise<void> {
    const path: Slot[] = [];
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent)
      path.unshift(...(this.#taken.get(node) ?? []).filter((slot) => !slot.isTaken));
    for (const slot of path) if (!slot.isTaken) await slot.take(this.#stops);
  }
}
