import type { Invocation } from '../core/invocation.ts';
import type { Stop } from '../core/status.ts';
import type { Stops } from '../core/stops.ts';
import type { Activity, Parkable } from './activity.ts';
import { Semaphore } from './semaphore.ts';

/** A worker's place among those of its supervisor that run at once. */
class Place implements Parkable {
  parked = false;
  readonly self: Invocation;
  readonly #places: Semaphore;
  #isHeld = false;
  #taking: Promise<void> | undefined;

  constructor(self: Invocation, places: Semaphore) {
    this.self = self;
    this.#places = places;
  }

  /** Those who go on at once after one wait share one taking. */
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
    this.#isHeld = this.#places.take() || (await this.#places.wait(waiter));
    stops.leave(waiter);
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** While all below it waits for a person, somebody else may have the place. */
  park(): void {
    if (this.#isHeld) this.#places.give();
    this.#isHeld = false;
  }

  unpark(): void {}
}

/** The places of every supervisor of a run. */
export class Places {
  readonly #activity: Activity;
  readonly #stops: Stops;
  readonly #bySupervisor = new WeakMap<Invocation, Semaphore>();
  readonly #held = new WeakMap<Invocation, Place>();

  constructor(activity: Activity, stops: Stops) {
    this.#activity = activity;
    this.#stops = stops;
  }

  async take(self: Invocation, supervisor: Invocation, concurrency: number): Promise<void> {
    let places = this.#bySupervisor.get(supervisor);
    if (places === undefined) {
      places = new Semaphore(concurrency);
      this.#bySupervisor.set(supervisor, places);
    }
    const place = new Place(self, places);
    await place.take(this.#stops);
    this.#held.set(self, place);
    this.#activity.add(place);
  }

  give(self: Invocation): void {
    const place = this.#held.get(self);
    if (place === undefined) return;
    this.#held.delete(self);
    this.#activity.remove(place);
    place.park();
  }

  /** After a person's answer: those above that gave their place back take one again, the outermost first. */
  async retake(self: Invocation): Promise<void> {
    const path: Place[] = [];
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) {
      const place = this.#held.get(node);
      if (place !== undefined && !place.isHeld) path.unshift(place);
    }
    for (const place of path) if (!place.isHeld) await place.take(this.#stops);
  }
}
