import type { Message } from '../core/values/message.ts';

/** A transcript on the wire, as far as it has come. */
export interface WireLine<Wire> {
  add(message: Message): void;
  /** All of it, as a list of its own: what was sent never changes. */
  list(): Wire[];
}

interface Known<Wire> {
  readonly messages: readonly Message[];
  readonly line: WireLine<Wire>;
}

/**
 * Converts transcripts, which grow at their ends: what was converted for the request before is not converted again. A request goes on
 * with the line of the one whose messages its own begin with. Messages are known by identity, and only where they are frozen.
 */
export function wireLines<Wire>(open: () => WireLine<Wire>): (messages: readonly Message[]) => Wire[] {
  /** By the last message of each line. */
  const known = new WeakMap<Message, Known<Wire>>();
  return (messages) => {
    const before = lineOf(known, messages);
    const line = before?.line ?? open();
    const from = before?.messages.length ?? 0;
    const end = messages[from - 1];
    // It goes on, and no other can go on from where it was; where a message cannot be converted, none from where it is.
    if (end !== undefined) known.delete(end);
    for (let index = from; index < messages.length; index += 1) line.add(messages[index] as Message);
    const last = messages.at(-1);
    if (last !== undefined && messages.every((message, index) => index < from || Object.isFrozen(message))) {
      known.set(last, { messages, line });
    }
    return line.list();
  };
}

function lineOf<Wire>(known: WeakMap<Message, Known<Wire>>, messages: readonly Message[]): Known<Wire> | undefined {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const found = known.get(messages[index] as Message);
    if (found !== undefined && beginsWith(messages, found.messages)) return found;
  }
  return undefined;
}

function beginsWith(messages: readonly Message[], start: readonly Message[]): boolean {
  return start.length <= messages.length && start.every((message, index) => message === messages[index]);
}
