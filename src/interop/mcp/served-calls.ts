import type { Client } from '../http/client.ts';
import { type CallParts, ServedCall } from './served-call.ts';

/** The runs of a server's clients: active ones, those that wait for their client, and finished tasks. */
export class ServedCalls {
  readonly #calls = new Map<string, ServedCall>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #maxRuns: number;

  constructor(maxRuns: number) {
    this.#maxRuns = maxRuns;
  }

  isFull({ name }: Client): boolean {
    const own = [...this.#calls.values()].filter((call) => call.client.name === name && !call.isOver);
    return own.length >= this.#maxRuns;
  }

  start(parts: CallParts): ServedCall {
    const call = new ServedCall(parts);
    this.#calls.set(call.id, call);
    return call;
  }

  /** A client's own; another's does not exist for it. */
  get(id: unknown, { name }: Client): ServedCall | undefined {
    const call = typeof id === 'string' ? this.#calls.get(id) : undefined;
    return call?.client.name === name ? call : undefined;
  }

  of({ name }: Client): readonly ServedCall[] {
    return [...this.#calls.values()].filter((call) => call.client.name === name);
  }

  forget({ id }: ServedCall): void {
    this.stay(id);
    this.#calls.delete(id);
  }

  /** After so long without its client it is ended and forgotten. */
  leave(call: ServedCall, ms: number): void {
    this.stay(call.id);
    const timer = setTimeout(() => {
      call.abort();
      this.forget(call);
    }, ms);
    timer.unref();
    this.#timers.set(call.id, timer);
  }

  /** Its client is there. */
  stay(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  /** Aborts all; those with a journal can be resumed. */
  async close(): Promise<void> {
    const calls = [...this.#calls.values()];
    for (const call of calls) {
      call.abort();
      this.forget(call);
    }
    await Promise.all(calls.map((call) => call.result.catch(() => {})));
  }
}
