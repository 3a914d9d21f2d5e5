/** What the A2A kit is run against: an agent that does what the id of a message asks for, as the kit's scenarios say. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineAgent } from 'coxswain';
import { a2aHandler } from 'coxswain/a2a';
import { z } from 'zod';

const asked = new AsyncLocalStorage<{ body: string }>();

/** The id of the message of this request. An agent is not shown it: it is read beside it, from what came over the wire. */
function messageId(): string {
  return /"messageId"\s*:\s*"([^"]*)"/.exec(asked.getStore()?.body ?? '')?.[1] ?? '';
}

const ANSWERS: { readonly [prefix: string]: unknown } = {
  'tck-artifact-text': 'Generated text content',
  'tck-artifact-data': { key: 'value', count: 42 },
  'tck-stream-001': 'Stream hello from TCK',
  'tck-stream-003': 'Stream task lifecycle',
  'tck-stream-ordering-001': 'Ordered output',
  'tck-stream-artifact-text': 'Streamed text content',
};

const subject = defineAgent({
  name: 'subject',
  description: 'Does what the kit asks for.',
  output: z.unknown(),
  async run(_, ctx) {
    const id = messageId();
    if (id.startsWith('tck-input-required')) await ctx.wait('reply', { question: 'What else?' }, z.unknown());
    if (id.startsWith('test-resubscribe-message-id') || id.startsWith('tck-resubscribe')) await ctx.sleep(4_000);
    const prefix = Object.keys(ANSWERS).find((one) => id.startsWith(one));
    return prefix === undefined ? 'Hello from TCK' : ANSWERS[prefix];
  },
});

/** Gives the server's URL, and what ends it. */
export async function serveSubject(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const handler = await a2aHandler({ agents: [subject], maxRuns: 10_000, onError: (error) => console.error(error) });
  const server = createServer((request, response) => {
    const store = { body: '' };
    tap(request, store);
    void asked.run(store, () => handler(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sees the body as it is read, and takes nothing of it. */
function tap(request: IncomingMessage, store: { body: string }): void {
  const emit = request.emit.bind(request);
  request.emit = (type: string | symbol, ...args: unknown[]) => {
    if (type === 'data') store.body += String(args[0]);
    return emit(type, ...args);
  };
}
