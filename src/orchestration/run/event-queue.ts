/** An async iterator that events are pushed to. `return` drops what it holds and calls `onReturn`. */
export class EventQueue<T> implements AsyncIterableIterator<T> {
  #waiting: T[] = [];
  #next = 0;
  #wanted: ((result: IteratorResult<T>) => void)[] = [];
  #ended = false;
  readonly #onReturn: (queue: EventQueue<T>) => void;

  constructor(onReturn: (queue: EventQueue<T>) => void) {
    this.#onReturn = onReturn;
  }

  push(value: T): void {
    if (this.#ended) return;
    const wanted = this.#wanted.shift();
    if (wanted === undefined) this.#waiting.push(value);
    else wanted({ done: false, value });
  }

  end(): void {
    this.#ended = true;
    for (const wanted of this.#wanted) wanted({ done: true, value: undefined });
    this.#wanted = [];
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#next < this.#waiting.length) {
      const value = this.#waiting[this.#next] as T;
      this.#next += 1;
      if (this.#next > 1_000 && this.#next * 2 > this.#waiting.length) {
        this.#waiting = this.#waiting.slice(this.#next);
        this.#next = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#wanted.push(resolve));
  }

  return(): Promise<IteratorResult<T>> {
    this.#waiting = [];
    this.#next = 0;
    this.end();
    this.#onReturn(this);
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
