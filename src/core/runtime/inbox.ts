import type { UserMessage } from '../values/message.ts';

/** What came for an invocation from outside of its own calls: a message, or the end of a background worker, by its id. */
export type Arrival =
  | { readonly id: string; readonly message: UserMessage }
  | { readonly id: string; readonly worker: string };

/** How an arrival ends: it entered the transcript, or its node ended first; `deferred` where a resume delivers it again. */
export type Delivery = 'entered' | 'deferred' | 'lost';

interface Waiting {
  readonly arrival: Arrival;
  readonly onDelivery: ((delivery: Delivery) => void) | undefined;
}

/** What has come for the invocations of a run and has not entered their transcripts, by path, in the order in which it came. */
export class Inbox {
  #waiting: Map<string, Waiting[]> | undefined;
  /** Ids of all that ever came: what comes twice counts once. */
  #seen: Set<string> | undefined;
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
    this.#seen ??= new Set();
    this.#seen.add(id);
  }

  put(path: string, arrival: Arrival, onDelivery?: (delivery: Delivery) => void): void {
    if (!this.#seen?.has(arrival.id)) {
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

  /** Removes one that reached the invocation in another way: the result of a worker that a tool call gave. */
  remove(path: string, id: string): void {
    const rest = this.#waiting?.get(path)?.filter(({ arrival }) => arrival.id !== id);
    if (rest === undefined) return;
    if (rest.length === 0) this.#waiting?.delete(path);
    else this.#waiting?.set(path, rest);
  }

  /** Another node reads from now on what is there. */
  move(from: string, to: string): void {
    const moved = this.#waiting?.get(from);
    if (moved === undefined) return;
    this.#waiting?.delete(from);
    this.#waiting?.set(to, [...moved, ...(this.#waiting.get(to) ?? [])]);
  }

  /** The node is over. */
  close(path: string, delivery: 'deferred' | 'lost'): void {
    this.#end(path, delivery);
  }

  /** The run is over. */
  clear(delivery: 'deferred' | 'lost'): void {
    for (const path of [...(this.#waiting?.keys() ?? [])]) this.#end(path, delivery);
  }

  #end(path: string, delivery: Delivery): readonly Arrival[] {
    const waiting = this.#waiting?.get(path) ?? [];
    this.#waiting?.delete(path);
    for (const { onDelivery } of waiting) onDelivery?.(delivery);
    return waiting.map(({ arrival }) => arrival);
  }
}
