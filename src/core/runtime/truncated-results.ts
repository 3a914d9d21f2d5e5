import { MAX_STORED_CHARS } from '../values/bound-json.ts';
import type { Json } from '../values/json.ts';
import { atPointer } from '../values/json-pointer.ts';
import type { Message } from '../values/message.ts';

/** Whole texts of truncated results, by their message, as long as that lives. */
const wholes = new WeakMap<Message, string>();

/** The truncated results of one invocation: what `read_result` can read. */
export class TruncatedResults {
  readonly #messages: readonly Message[];
  readonly #suffix: string;
  /** Messages whose whole text is stored, oldest first. */
  readonly #truncated: Message[] = [];
  #chars = 0;
  /** Whole texts of what was not the result of a call, by name, oldest first. */
  #named: Map<string, string> | undefined;

  /** `messages` is the transcript as it grows. A continued conversation has addresses of its own in each run. */
  constructor(messages: readonly Message[]) {
    this.#messages = messages;
    this.#suffix = messages.length > 1 ? `~${messages.length}` : '';
  }

  /** The name under which the whole of the result at an address can be read. */
  refFor(key: string): string {
    return key + this.#suffix;
  }

  /** Stores the whole text of a truncated result; the oldest are dropped where all are too long together. */
  keep(message: Message, whole: string): void {
    if (whole.length > MAX_STORED_CHARS) return;
    wholes.set(message, whole);
    this.#truncated.push(message);
    this.#chars += whole.length;
    while (this.#chars > MAX_STORED_CHARS) {
      const oldest = this.#truncated.shift();
      if (oldest === undefined) return;
      this.#chars -= wholes.get(oldest)?.length ?? 0;
      wholes.delete(oldest);
    }
  }

  /** Stores the whole of a truncated text that was not the result of a call. */
  keepAs(name: string, whole: string): void {
    if (whole.length > MAX_STORED_CHARS) return;
    this.#named ??= new Map();
    this.#named.set(name, whole);
    let chars = 0;
    for (const text of this.#named.values()) chars += text.length;
    for (const [oldest, text] of this.#named) {
      if (chars <= MAX_STORED_CHARS) return;
      this.#named.delete(oldest);
      chars -= text.length;
    }
  }

  /** The whole of a result, or of the part of it that a JSON Pointer behind `#` leads to; else why there is none. */
  read(ref: string): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string } {
    const [name = '', ...pointer] = ref.split('#');
    const named = this.#named?.get(name);
    const message = this.#messages.findLast((one) => one.role === 'tool' && one.ref === name);
    if (named === undefined && message === undefined)
      return { ok: false, message: `There is no result ${shown(name)} here. ${this.#listed()}` };
    const whole = named ?? (message && wholes.get(message));
    if (whole === undefined)
      return { ok: false, message: `The whole of ${shown(name)} is no longer kept: call that tool again.` };
    if (pointer.length === 0) return { ok: true, text: whole };
    const part = partOf(whole, pointer.join('#'));
    return part === undefined
      ? { ok: false, message: `${shown(name)} has no ${shown(pointer.join('#'))}.` }
      : { ok: true, text: part };
  }

  #listed(): string {
    const truncated = this.#truncated.map((message) => (message.role === 'tool' ? (message.ref ?? '') : ''));
    const refs = [...truncated, ...(this.#named?.keys() ?? [])].slice(-10);
    return refs.length === 0 ? 'No result was cut.' : `Those that were cut are: ${refs.join(', ')}.`;
  }
}

/** A text as it is, anything else as its JSON. */
function partOf(whole: string, pointer: string): string | undefined {
  try {
    const part = atPointer(JSON.parse(whole) as Json, pointer);
    return typeof part === 'string' ? part : JSON.stringify(part);
  } catch {
    return undefined;
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
