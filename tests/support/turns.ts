import type { Message, ModelTurn, RunEvent } from 'coxswain';
import { textOf } from '../../src/core/values/message.ts';

type Requested = readonly [name: string, args?: unknown];

let made = 0;

/** A turn that calls tools; a text as arguments is the raw JSON that the model wrote. */
export function turn(...requested: readonly Requested[]): ModelTurn {
  return {
    content: requested.map(([name, args = {}]) => ({
      type: 'tool_call',
      id: `c${++made}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
    stop: 'tool_calls',
    usage: { inputTokens: 10, outputTokens: 5 },
  };
}

/** A turn that is a text. */
export function text(content: string, usage = { inputTokens: 10, outputTokens: 5 }): ModelTurn {
  return { content: [{ type: 'text', text: content }], stop: 'end', usage };
}

/** `ok`, or what is wrong: each call has one result, after it and before the next user message, and no result stands alone. */
export function pairing(messages: readonly Message[]): string {
  const open = new Map<string, number>();
  for (const message of messages) {
    if (message.role === 'user' && open.size > 0) return 'a user message between calls and results';
    if (message.role === 'assistant') {
      if (open.size > 0) return `unanswered ${[...open.keys()].join()}`;
      for (const part of message.content)
        if (part.type === 'tool_call') open.set(part.id, (open.get(part.id) ?? 0) + 1);
    }
    if (message.role === 'tool') {
      const count = open.get(message.callId);
      if (count === undefined) return `orphan ${message.callId}`;
      if (count === 1) open.delete(message.callId);
      else open.set(message.callId, count - 1);
    }
  }
  return open.size > 0 ? `unanswered ${[...open.keys()].join()}` : 'ok';
}

/** The results that a model was told, as texts with their flag. */
export function results(messages: readonly Message[]): { text: string; isError: boolean }[] {
  return messages.flatMap((message) =>
    message.role === 'tool' ? [{ text: textOf(message.content), isError: message.isError }] : [],
  );
}

/** Resolves when `count` have arrived: work that must be under way together. */
export function barrier(count: number): () => Promise<void> {
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived === count) open();
    return all;
  };
}

/** A promise with its own ends. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { promise, open: resolve };
}

/** All events of a run, once it is over. */
export async function eventsOf(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}
