import type { Invocation } from '../../core/runtime/invocation.ts';

/** Something of a node that stands still while all below it waits for a person: a deadline, a slot of its supervisor. */
export interface Parkable {
  readonly self: Invocation;
  parked: boolean;
  park(): void;
  unpark(): void;
}

interface Watched {
  /** Everyone waits for a person, or nobody is left. */
  idle(): void;
  /** Told when the first effect, sleep or wait of all begins, and when the last one is over. */
  underWay(isAny: boolean): void;
}

/** Who is busy and who waits for a person, counted at each node for all below it. */
export class Activity {
  #parkables: Parkable[] = [];
  readonly #run: Watched;
  #root: Invocation | undefined;
  #scheduled = false;

  constructor(run: Watched) {
    this.#run = run;
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
    if (busy + waiting === (by === 1 ? 1 : 0)) this.#run.underWay(by === 1);
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
      if (this.#root !== undefined && isParked(this.#root)) this.#run.idle();
    });
  }
}

function isParked({ busy, waiting }: Invocation): boolean {
  return waiting > 0 && busy === 0;
}
