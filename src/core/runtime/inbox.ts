import type { UserMessage } from '../values/message.ts';

/** What came for an invocation from outside of its own calls: a message, or the end of a background worker, by its id. */
export type Arrival =
  | { readonly id: string; readonly message: UserMessage }
  | { readonly id: string; readonly worker: string };

/** What becomes of an arrival: it entered the transcript, or its node ended first; `kept` where a resume has it again. */
export type Delivery = 'entered' | 'kept' | 'lost';

interface Waiting {
  readonly arrival: Arrival;
  readonly onDelivery: ((delivery: Delivery) => void) | undefined;
}

/** What has come for the invocations of a run and has not entered their transcripts, by path, in the order in which it came. */
export class Inbox {
  #waiting: Map<string, Waiting[]> | undefined;
  /** Of all that ever came: what is heard twice counts once. */
  #known: Set<string> | undefined;
  #watchers: Map<string, (() => void)[]> | undefined;

  get isEmpty(): boolean {
    return this.#waiting === undefined || this.#waiting.size === 0;
  }

  has(path: string): boolean {
    return this.#waiting?.has(path) ?? false;
  }

  /** Whether there is more than ends of workers. */
  hasMessage(path: string): boolean {
    return this.#waiting?.get(path)?.some(({ arrival }) => 'message' in arrival) ?? false;
  }

  /** What entered in an earlier epoch. */
  remember(id: string): void {
    this.#known ??= new Set();
    this.#known.add(id);
  }

  put(path: string, arrival: Arrival, onDelivery?: (delivery: Delivery) => void): void {
    if (!this.#known?.has(arrival.id)) {
      this.remember(arrival.id);
      this.#waiting ??= new Map();
      const before = this.#waiting.get(path);
      if (before === undefined) this.#waiting.set(path, [{ arrival, onDelivery }]);
      else before.push({ arrival, onDelivery });
    }
    const watchers = this.#watchers?.get(path) ?? [];
    this.#watchers?.delete(path);
    for (const wake of watchers) wake();
  }

  /** Resolves when the next one comes. */
  changed(path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watchers ??= new Map();
    this.#watchers.set(path, [...(this.#watchers.get(path) ?? []), resolve]);
    return promise;
  }

  waiting(path: string): readonly Arrival[] {
    return this.#waiting?.get(path)?.map(({ arrival }) => arrival) ?? [];
  }

  /** Takes what is there for a node, or the first of it: it enters now. */
  take(path: string, count = Number.POSITIVE_INFINITY): readonly Arrival[] {
    const later = this.#waiting?.get(path)?.slice(count) ?? [];
    if (later.length > 0) this.#waiting?.get(path)?.splice(count);
    const taken = this.#end(path, 'entered');
    if (later.length > 0) this.#waiting?.set(path, later);
    return taken;
  }

  /** Takes one away that was onDelivery in another way. */
  remove(path: string, id: string): void {
    const left = this.#waiting?.get(path)?.filter(({ arrival }) => arrival.id !== id);
    if (left === undefined) return;
    if (left.length === 0) this.#waiting?.delete(path);
    else this.#waiting?.set(path, left);
  }

  /** Another node reads from now on what is there. */
  move(from: string, to: string): void {
    const moved = this.#waiting?.get(from);
    if (moved === undefined) return;
    this.#waiting?.delete(from);
    this.#waiting?.set(to, [...moved, ...(this.#waiting.get(to) ?? [])]);
  }

  /** The node is over. */
  close(path: string, delivery: 'kept' | 'lost'): void {
    this.#end(path, delivery);
  }

  /** The run is over. */
  clear(delivery: 'kept' | 'lost'): void {
    for (const path of [...(this.#waiting?.keys() ?? [])]) this.#end(path, delivery);
  }

  #end(path: string, delivery: Delivery): readonly Arrival[] {
    const waiting = this.#waiting?.get(path) ?? [];
    this.#waiting?.delete(path);
    for (const { onDelivery } of waiting) onDelivery?.(delivery);
    return waiting.map(({ arrival }) => arrival);
  }
}
