import { canonical, sha256 } from '../values/json.ts';
import type { Message } from '../values/message.ts';

/** The hash of a list of messages that grows: each message is hashed once, however often the list is sent. */
export class MessageChain {
  #count = 0;
  #hash = '';
  #last = '';

  /** The hash of `messages`, whose first `from` entries are those of the list before. */
  extend(messages: readonly Message[], from: number): string {
    // Asked again for the same list, or for one whose beginning was dropped: the chain starts anew.
    if (from === messages.length && from === this.#count) return this.#last;
    if (from !== this.#count) {
      this.#count = 0;
      this.#hash = '';
    }
    for (let index = this.#count; index < messages.length; index += 1) {
      this.#hash = sha256(`${this.#hash}|${sentText(messages[index])}`);
    }
    this.#count = messages.length;
    this.#last = this.#hash;
    return this.#last;
  }
}

/** What is sent of a message, as canonical JSON: equal messages have equal texts. */
export function sentText(message: Message | undefined): string {
  return canonical(asSent(message));
}

/** Labels are never sent, nor whether a message is pinned. */
function asSent(message: Message | undefined): unknown {
  if (message === undefined) return undefined;
  if (message.role !== 'user') {
    const { label: _label, ...sent } = message;
    return sent;
  }
  const { label: _label, pinned: _pinned, ...sent } = message;
  return sent;
}
