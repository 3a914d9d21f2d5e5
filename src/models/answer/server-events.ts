/** One event of an event stream: the lines of its data, joined, and its name where it has one. */
export interface ServerEvent {
  readonly event: string | undefined;
  readonly data: string;
}

const NONE: readonly ServerEvent[] = Object.freeze([]);

/**
 * Takes the text of `text/event-stream` (WHATWG HTML §9.2.6) in pieces of any size: line ends of all three kinds, comments, split
 * lines. Events without data are dropped. An unfinished last event counts only if its data is complete.
 */
export class ServerEvents {
  /** The line that has begun. Never searched again, however many pieces it comes in. */
  #begun = '';
  /** The last piece ended with a carriage return: a line feed that comes next belongs to it. */
  #afterReturn = false;
  #event: string | undefined;
  #data: string | undefined;

  push(text: string): readonly ServerEvent[] {
    if (text === '') return NONE;
    let start = this.#afterReturn && text.startsWith('\n') ? 1 : 0;
    this.#afterReturn = text.endsWith('\r');
    const hasReturns = text.includes('\r');
    const into: ServerEvent[] = [];
    for (;;) {
      const end = hasReturns ? lineEnd(text, start) : text.indexOf('\n', start);
      if (end < 0) break;
      const line = text.slice(start, end);
      this.#take(this.#begun === '' ? line : this.#begun + line, into);
      this.#begun = '';
      start = hasReturns && text.startsWith('\r\n', end) ? end + 2 : end + 1;
    }
    if (start < text.length) this.#begun += text.slice(start);
    return into;
  }

  /** The last event, where the stream ended without the blank line after it. */
  end(): readonly ServerEvent[] {
    if (this.#begun === '' && this.#data === undefined) return NONE;
    const last: ServerEvent[] = [];
    if (this.#begun !== '') this.#take(this.#begun, last);
    this.#take('', last);
    this.#begun = '';
    return last.filter(({ data }) => isWhole(data) || data.split('\n').every(isWhole));
  }

  #take(line: string, into: ServerEvent[]): void {
    if (line === '') {
      const data = this.#data;
      if (data !== undefined && data.trim() !== '') into.push({ event: this.#event, data });
      this.#event = undefined;
      this.#data = undefined;
    } else if (line.startsWith('data:')) {
      const value = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('event:')) {
      this.#event = line.slice(line.charCodeAt(6) === 32 ? 7 : 6) || undefined;
    }
  }
}

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf('\n', from);
  const back = text.indexOf('\r', from);
  return feed < 0 ? back : back < 0 ? feed : Math.min(feed, back);
}

function isWhole(text: string): boolean {
  if (text.trim() === '[DONE]') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
