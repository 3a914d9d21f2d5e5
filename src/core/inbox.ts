import type { UserMessage } from './message.ts';

/** What came for an invocation from outside of its own calls. `id` is that of what sent it. */
export interface Arrival {
  readonly id: string;
  readonly message: UserMessage;
}

/** What becomes of an arrival: it entered the transcript, or its node ended first; `kept` where a resume has it again. */
export type Fate = 'entered' | 'kept' | 'lost';

interface Waiting {
  readonly arrival: Arrival;
  readonly told: ((fate: Fate) => void) | undefined;
}

/** What has come for the invocations of a run and has not entered their transcripts, by path, in the order in which it came. */
export class Inbox {
  #waiting: Map<string, Waiting[]> | undefined;
  /** Of all that ever came: what is heard twice counts once. */
  #known: Set<string> | undefined;

  get isEmpty(): boolean {
    return this.#waiting === undefined || this.#waiting.size === 0;
  }

  has(path: string): boolean {
    return this.#waiting?.has(path) ?? false;
  }

  /** What entered in an earlier epoch. */
  remember(id: string): void {
    this.#known ??= new Set();
    this.#known.add(id);
  }

  put(path: string, arrival: Arrival, told?: (fate: Fate) => void): void {
    if (this.#known?.has(arrival.id)) return;
    this.remember(arrival.id);
    this.#waiting ??= new Map();
    const before = this.#waiting.get(path);
    if (before === undefined) this.#waiting.set(path, [{ arrival, told }]);
    else before.push({ arrival, told });
  }

  /** Takes all that is there for a node: it enters now. */
  take(path: string): readonly Arrival[] {
    return this.#end(path, 'entered');
  }

  /** The node is over. */
  close(path: string, fate: 'kept' | 'lost'): void {
    this.#end(path, fate);
  }

  /** The run is over. */
  clear(fate: 'kept' | 'lost'): void {
    for (const path of [...(this.#waiting?.keys() ?? [])]) this.#end(path, fate);
  }

  #end(path: string, fate: Fate): readonly Arrival[] {
    const waiting = this.#waiting?.get(path) ?? [];
    this.#waiting?.delete(path);
    for (const { told } of waiting) told?.(fate);
    return waiting.map(({ arrival }) => arrival);
  }
}
