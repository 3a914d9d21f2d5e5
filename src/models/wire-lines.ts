import type { Message } from '../core/values/message.ts';

/** A transcript in wire form, as far as it is converted. */
export interface WireLine<Wire> {
  add(message: Message): void;
  /** The whole transcript as a new list, since sent lists never change. */
  list(): Wire[];
}

interface CachedLine<Wire> {
  readonly messages: readonly Message[];
  readonly line: WireLine<Wire>;
}

/**
 * Converts transcripts, which grow at their ends: messages of the previous request are not converted again. A request continues
 * the line whose messages its own begin with. Messages are compared by identity, and only if they are frozen.
 */
export function wireLines<Wire>(open: () => WireLine<Wire>): (messages: readonly Message[]) => Wire[] {
  /** By the last message of each line. */
  const cache = new WeakMap<Message, CachedLine<Wire>>();
  return (messages) => {
    const before = lineOf(cache, messages);
    const line = before?.line ?? open();
    const from = before?.messages.length ?? 0;
    const end = messages[from - 1];
    // The line is taken from the cache, so that no other request continues it, also if a conversion fails.
    if (end !== undefined) cache.delete(end);
    for (let index = from; index < messages.length; index += 1) line.add(messages[index] as Message);
    const last = messages.at(-1);
    if (last !== undefined && messages.every((message, index) => index < from || Object.isFrozen(message))) {
      cache.set(last, { messages, line });
    }
    return line.list();
  };
}

function lineOf<Wire>(
  cache: WeakMap<Message, CachedLine<Wire>>,
  messages: readonly Message[],
): CachedLine<Wire> | undefined {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const found = cache.get(messages[index] as Message);
    if (found !== undefined && beginsWith(messages, found.messages)) return found;
  }
  return undefined;
}

function beginsWith(messages: readonly Message[], start: readonly Message[]): boolean {
  return start.length <= messages.length && start.every((message, index) => message === messages[index]);
}
