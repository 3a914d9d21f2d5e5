import type { Invocation } from '../../core/runtime/invocation.ts';
import type { NodeActivity } from '../../core/runtime/node-activity.ts';
import type { WaitWatcher } from '../../journal/waits.ts';

/** What a node releases while all below it waits for a person: its deadline, its slot. */
export interface Parkable {
  readonly self: Invocation;
  parked: boolean;
  park(): void;
  unpark(): void;
}

/** Called when the work of a run begins, ends, or waits for a person. */
export interface ActivityWatcher {
  /** All work waits for a person. */
  idle(): void;
  /** The first effect, sleep or wait of all has begun, or the last one has ended. */
  underWay(isAny: boolean): void;
}

/** Counts at each node how many of the invocations below it work and how many wait for a person. */
export class Activity implements NodeActivity, WaitWatcher {
  #parkables: Parkable[] = [];
  readonly #watcher: ActivityWatcher;
  #root: Invocation | undefined;
  #scheduled = false;

  constructor(watcher: ActivityWatcher) {
    this.#watcher = watcher;
  }

  add(parkable: Parkable): void {
    this.#parkables.push(parkable);
  }

  remove(parkable: Parkable): void {
    this.#parkables = this.#parkables.filter((one) => one !== parkable);
  }

  clear(): void {
    this.#parkables = [];
  }

  busy(self: Invocation, by: 1 | -1): void {
    let node: Invocation | undefined = self;
    for (; node !== undefined; node = node.parent) {
      node.busy += by;
      this.#root = node;
    }
    this.#tell(by);
    if (this.#root !== undefined && this.#root.waiting > 0) this.#look(by);
  }

  waiting(self: Invocation, by: 1 | -1): void {
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) {
      node.waiting += by;
      this.#root = node;
    }
    this.#tell(by);
    this.#look(by === 1 ? -1 : 1);
  }

  #tell(by: 1 | -1): void {
    const { busy = 0, waiting = 0 } = this.#root ?? {};
    if (busy + waiting === (by === 1 ? 1 : 0)) this.#watcher.underWay(by === 1);
  }

  /** Waking is done at once; parking when the turn of the event loop is over, since one effect ends before the next begins. */
  #look(more: 1 | -1): void {
    if (more === 1) {
      for (const parkable of this.#parkables) {
        if (!parkable.parked || isParked(parkable.self)) continue;
        parkable.parked = false;
        parkable.unpark();
      }
      return;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const parkable of this.#parkables) {
        if (parkable.parked || !isParked(parkable.self)) continue;
        parkable.parked = true;
        parkable.park();
      }
      if (this.#root !== undefined && isParked(this.#root)) this.#watcher.idle();
    });
  }
}

function isParked({ busy, waiting }: Invocation): boolean {
  return waiting > 0 && busy === 0;
}
