import type { RunEvent } from '../../core/contract/event.ts';
import { isSummary } from '../../core/values/address.ts';

/** The text of one node. A model that does not stream gives its whole text at the end of its call. */
export class TextStream implements AsyncIterable<string> {
  readonly #events: AsyncIterator<RunEvent>;
  readonly #text: NodeText;

  constructor(events: AsyncIterable<RunEvent>, path: string) {
    this.#events = events[Symbol.asyncIterator]();
    this.#text = new NodeText(path);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<string> {
    const events = this.#events;
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        const text = this.#text.after(next.value);
        if (text !== '') yield text;
      }
    } finally {
      await events.return?.();
    }
  }
}

/** What a node says, event by event; what a retried stream repeats is not repeated. */
export class NodeText {
  readonly #path: string;
  /** Of the call under way: what was shown of it, and the text so far of the attempt under way. */
  #key = '';
  #attempt = 1;
  #shown = '';
  #at = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** What an event adds to the text; often nothing. */
  after(event: RunEvent): string {
    // Neither a summary nor what is asked beside the node's own calls is what it says.
    if (event.path !== this.#path || isSummary(event.key) || !event.key.startsWith(`${event.path}/${event.step}/`))
      return '';
    if (event.type === 'model.start') this.#begin(event.key);
    if (event.type === 'model.delta' && event.delta.type === 'text')
      return this.#delta(event.key, event.attempt, event.delta.text);
    if (event.type === 'model.end' && !event.isError) {
      if (event.key !== this.#key) this.#begin(event.key);
      this.#at = event.text;
      return this.#rest();
    }
    return '';
  }

  #begin(key: string): void {
    if (key === this.#key) return;
    this.#key = key;
    this.#attempt = 1;
    this.#shown = '';
    this.#at = '';
  }

  #delta(key: string, attempt: number, text: string): string {
    this.#begin(key);
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      this.#at = '';
    }
    this.#at += text;
    return this.#rest();
  }

  /** What goes beyond what was shown; nothing where a new attempt says something else. */
  #rest(): string {
    if (this.#at.length <= this.#shown.length || !this.#at.startsWith(this.#shown)) return '';
    const rest = this.#at.slice(this.#shown.length);
    this.#shown = this.#at;
    return rest;
  }
}
