/** One event of an event stream: the lines of its data, joined, and its name where it has one. */
export interface ServerEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** Takes the bytes of an event stream, in pieces of any size, and gives its events. */
export interface ServerEvents {
  push(bytes: Uint8Array): ServerEvent[];
  /** The last event, where the stream ended without the blank line after it. */
  end(): ServerEvent[];
}

/**
 * Reads `text/event-stream` (WHATWG HTML §9.2.6): line ends of all three kinds, comments, characters cut anywhere. Events
 * without data are dropped. An unfinished last event counts only where its data is whole.
 */
export function serverEvents(): ServerEvents {
  const decoder = new TextDecoder();
  let rest = '';
  let event: string | undefined;
  let data: string[] = [];

  const take = (line: string, into: ServerEvent[]) => {
    if (line === '') {
      if (data.length > 0) into.push({ event, data: data.join('\n') });
      event = undefined;
      data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value === '' ? undefined : value;
  };
  const lines = (text: string, into: ServerEvent[]) => {
    rest += text;
    let start = 0;
    for (const found of rest.matchAll(/\r\n|\n|\r(?!$)/g)) {
      take(rest.slice(start, found.index), into);
      start = found.index + found[0].length;
    }
    // A carriage return at the very end waits: its line feed may come with the next piece.
    rest = rest.slice(start);
  };
  return {
    push(bytes) {
      const events: ServerEvent[] = [];
      lines(decoder.decode(bytes, { stream: true }), events);
      return events;
    },
    end() {
      const events: ServerEvent[] = [];
      lines(decoder.decode(), events);
      if (rest !== '') take(rest.endsWith('\r') ? rest.slice(0, -1) : rest, events);
      rest = '';
      const last: ServerEvent[] = [];
      take('', last);
      return [...events, ...last.filter(({ data }) => data.trim() === '[DONE]' || isJson(data))];
    },
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
