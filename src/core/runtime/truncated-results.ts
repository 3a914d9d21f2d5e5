import { LONGEST_KEPT } from '../values/bound-json.ts';
import type { Json } from '../values/json.ts';
import { atPointer } from '../values/json-pointer.ts';
import type { Message } from '../values/message.ts';

/** Whole texts of results that were cut, by their message: as long as somebody has that. */
const wholes = new WeakMap<Message, string>();

/** The results that one invocation was told in part: what `read_result` can read. */
export class TruncatedResults {
  readonly #messages: readonly Message[];
  readonly #suffix: string;
  /** Those whose whole is kept, oldest first. */
  readonly #kept: Message[] = [];
  #chars = 0;
  /** Wholes of what was not told as the result of a call, by name, oldest first. */
  #named: Map<string, string> | undefined;

  /** The transcript as it grows. A conversation that goes on has addresses of its own in each run. */
  constructor(messages: readonly Message[]) {
    this.#messages = messages;
    this.#suffix = messages.length > 1 ? `~${messages.length}` : '';
  }

  /** The name under which the whole of the result at an address can be read. */
  refFor(key: string): string {
    return key + this.#suffix;
  }

  /** Keeps the whole of a result that was cut; the oldest give way where all are too much. */
  keep(message: Message, whole: string): void {
    if (whole.length > LONGEST_KEPT) return;
    wholes.set(message, whole);
    this.#kept.push(message);
    this.#chars += whole.length;
    while (this.#chars > LONGEST_KEPT) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) return;
      this.#chars -= wholes.get(oldest)?.length ?? 0;
      wholes.delete(oldest);
    }
  }

  /** Keeps the whole of what was told in part in another way than as the result of a call. */
  keepAs(name: string, whole: string): void {
    if (whole.length > LONGEST_KEPT) return;
    this.#named ??= new Map();
    this.#named.set(name, whole);
    let chars = 0;
    for (const text of this.#named.values()) chars += text.length;
    for (const [oldest, text] of this.#named) {
      if (chars <= LONGEST_KEPT) return;
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
      return { ok: false, message: `There is no result ${shown(name)} here. ${this.#known()}` };
    const whole = named ?? (message && wholes.get(message));
    if (whole === undefined)
      return { ok: false, message: `The whole of ${shown(name)} is no longer kept: call that tool again.` };
    if (pointer.length === 0) return { ok: true, text: whole };
    const part = partOf(whole, pointer.join('#'));
    return part === undefined
      ? { ok: false, message: `${shown(name)} has no ${shown(pointer.join('#'))}.` }
      : { ok: true, text: part };
  }

  #known(): string {
    const truncated = this.#kept.map((message) => (message.role === 'tool' ? (message.ref ?? '') : ''));
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
