import { randomUUID } from 'node:crypto';
import { ModelError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { type ServerEvent, ServerEvents } from './server-events.ts';
import { Utf8Pieces } from './utf8-pieces.ts';

/** Represents `[DONE]`, the end of a stream in Chat Completions. */
export const DONE = 'coxswain.done';

/** Receives the parts of an answer, in order. */
export interface Reader {
  /** One event of a stream; true where nothing that follows counts. */
  event(event: unknown): boolean;
  /** The whole of an answer that is no stream; undefined where it is empty. */
  whole(answer: unknown): void;
}

/** Longest page that is read for its title, in characters. */
const MAX_PAGE = 65_536;

/**
 * Takes the bytes of an answer in pieces: an event stream, one JSON value, or a page. The body decides which of them it is, since
 * servers answer in another form than requested, with the wrong content type. An empty body counts as the requested form, truncated.
 *
 * @throws ModelError for a page, SyntaxError for invalid JSON
 */
export class AnswerParser {
  readonly #provider: string;
  readonly #response: Pick<Response, 'status' | 'headers'>;
  readonly #stream: boolean;
  readonly #into: Reader;
  readonly #text = new Utf8Pieces();
  #form: 'unknown' | 'events' | 'json' | 'page' = 'unknown';
  /** Of JSON and pages. */
  #body = '';
  #events: ServerEvents | undefined;
  #isEmpty = true;

  constructor(response: Pick<Response, 'status' | 'headers'>, provider: string, stream: boolean, into: Reader) {
    this.#response = response;
    this.#provider = provider;
    this.#stream = stream;
    this.#into = into;
  }

  /** True where nothing that follows counts. */
  push(bytes: Uint8Array): boolean {
    const text = this.#text.push(bytes);
    if (this.#events !== undefined) return this.#tell(this.#events.push(text));
    if (this.#form !== 'unknown') this.#body += text;
    else return this.#begin(text.trimStart());
    if (this.#form === 'page' && this.#body.length > MAX_PAGE) throw this.#page();
    return false;
  }

  end(): void {
    if (this.#events !== undefined) {
      if (this.#tell(this.#events.push(this.#text.end())) || this.#tell(this.#events.end())) return;
    }
    if (this.#form === 'page' || (this.#form === 'unknown' && this.#isPage())) throw this.#page();
    if (this.#form === 'json') this.#whole(this.#body + this.#text.end());
    else if (this.#isEmpty && !this.#stream && !EVENTS_START.test(this.#body)) this.#into.whole(undefined);
  }

  /** The first text that is not blank; the byte order mark counts as such. */
  #begin(head: string): boolean {
    if (head === '') return false;
    this.#body = head;
    if (JSON_START.test(head)) this.#form = 'json';
    else if (head.startsWith('<') || (this.#isPage() && !EVENTS_START.test(head))) this.#form = 'page';
    else {
      this.#form = 'events';
      this.#events = new ServerEvents();
      return this.#tell(this.#events.push(head));
    }
    return false;
  }

  #tell(events: readonly ServerEvent[]): boolean {
    for (const event of events) {
      this.#isEmpty = false;
      if (this.#takeEvent(event)) return true;
    }
    return false;
  }

  #takeEvent(event: ServerEvent): boolean {
    try {
      const value = eventOf(event);
      return !isNothing(value) && this.#into.event(value);
    } catch (thrown) {
      // Some servers leave out the blank lines between their events.
      const lines = thrown instanceof SyntaxError ? valuesOf(event.data) : undefined;
      if (lines === undefined) throw thrown;
      return lines.some((line) => this.#into.event(line));
    }
  }

  /** One value, or one in each line, as some servers write their streams. */
  #whole(body: string): void {
    let answer: unknown;
    try {
      answer = parseEvent(body);
    } catch (thrown) {
      const lines = valuesOf(body);
      if (lines === undefined) throw thrown;
      lines.some((line) => this.#into.event(line));
      return;
    }
    this.#into.whole(answer);
  }

  #isPage(): boolean {
    return /^text\/html/i.test(this.#response.headers.get('content-type') ?? '');
  }

  #page(): ModelError {
    const title = /<title>([^<]{1,100})<\/title>/i.exec(this.#body)?.[1]?.trim();
    const what = title === undefined ? 'an HTML page' : `an HTML page (${JSON.stringify(title)})`;
    const message = `${this.#provider}: the address answers with ${what}. Is baseURL right?`;
    return new ModelError('malformed_response', message, { status: this.#response.status });
  }
}

const JSON_START = /^[[{"\d]|^(true|false|null)\b/;
const EVENTS_START = /^(data|event|id|retry)?:/;
const DONE_EVENT = Object.freeze({ object: DONE });
/** Names of events whose protocols repeat them in the data. */
const NAMES = /^(response\.|message_|content_block_|ping$)/;

/** What some servers send to keep a connection open. */
function isNothing(value: unknown): boolean {
  return value === null || (isPlainObject(value) && Object.keys(value).length === 0);
}

/** The data of an event, with the name of the event as its type where it has none. */
function eventOf({ event, data }: ServerEvent): unknown {
  if (event === 'error') return errorOf(data);
  if (!data.startsWith('{') && data.trim() === '[DONE]') return DONE_EVENT;
  const value = parseEvent(data);
  const isNamed = event !== undefined && NAMES.test(event);
  return isNamed && isPlainObject(value) && value.type === undefined ? { ...value, type: event } : value;
}

/** A value in each line; undefined where any of them is none, or there is but one. */
function valuesOf(text: string): unknown[] | undefined {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '');
  if (lines.length < 2) return undefined;
  try {
    return lines.map((line) => (line.trim() === '[DONE]' ? DONE_EVENT : parseEvent(line)));
  } catch {
    return undefined;
  }
}

/** An `error` event is an error, whatever its data. */
function errorOf(data: string): unknown {
  try {
    const value: unknown = JSON.parse(data);
    if (isPlainObject(value)) return { ...value, type: 'error' };
  } catch {
    // Its data is plain text.
  }
  return { type: 'error', error: { message: data } };
}

/**
 * JSON that a provider sent. Arguments that come as an object with an integer beyond 2^53 stay text: parsing would change the number
 * unnoticed.
 *
 * @throws SyntaxError for invalid JSON
 */
function parseEvent(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const mayHold = (text.includes('"input":') || text.includes('"arguments":')) && /\d{16}/.test(text);
  return mayHold ? exact(text) : value;
}

function exact(text: string): unknown {
  const mark = `${randomUUID()}:`;
  const marked: unknown = JSON.parse(text, (_, item: unknown, context?: { readonly source?: string }) => {
    const isRounded = typeof item === 'number' && !Number.isSafeInteger(item);
    return isRounded && /^-?\d+$/.test(context?.source ?? '') ? `${mark}${context?.source}` : item;
  });
  return unmarked(marked, mark);
}

function unmarked(value: unknown, mark: string): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? Number(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map((item) => unmarked(item, mark));
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).map(([name, item]) => [
    name,
    argumentsText(name, item, mark) ?? unmarked(item, mark),
  ]);
  return Object.fromEntries(fields);
}

/** The text of marked arguments, with the numbers as they were written. */
function argumentsText(name: string, item: unknown, mark: string): string | undefined {
  if ((name !== 'input' && name !== 'arguments') || item === null || typeof item !== 'object') return undefined;
  const text = JSON.stringify(item);
  return text.includes(mark) ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : undefined;
}
