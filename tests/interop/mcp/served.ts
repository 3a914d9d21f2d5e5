import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Agent, defineAgent, defineTool, type Model, type RunOptions } from 'coxswain';
import { type McpServing, type ServeMcpOptions, serveMcp } from 'coxswain/mcp';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterEach } from 'vitest';
import { z } from 'zod';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

export const EVERY = ['2025', '2026'] as const;
export type Revision = (typeof EVERY)[number];

export async function serve(agents: readonly Agent[], options: Partial<ServeMcpOptions> = {}): Promise<McpServing> {
  const serving = await serveMcp({ agents, transport: { port: 0 }, ...options });
  open.push(serving);
  return serving;
}

export async function connect(
  { url = '' }: McpServing,
  revision: Revision,
  options: ClientOptions & { token?: string } = {},
): Promise<Client> {
  const mode = revision === '2025' ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client({ name: 'tests', version: '1' }, { ...options, versionNegotiation: { mode } });
  const headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  open.push(client);
  return client;
}

export const answering = (text: string) => ({
  model: scriptedModel(() => ({ content: [{ type: 'text', text }], stop: 'end' })),
});
export const researcher = defineAgent({ name: 'researcher', description: 'Finds facts', instructions: 'Find.' });

/** An agent that pays, which a person is asked for. */
export function payer(): { agent: Agent; paid: unknown[]; run: RunOptions } {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    access: 'spend',
    input: z.object({ to: z.string() }),
    execute: (args) => paid.push(args),
  });
  const agent = defineAgent({ name: 'payer', description: 'Pays bills', instructions: 'Pay.', tools: [pay] });
  const model = scriptedModel([callTools(toolCall('pay', { to: 'Ann' })), 'paid']);
  return { agent, paid, run: { model } };
}

/** A model that answers when it is told to, and says when it was aborted. */
export function slow(): {
  model: Model;
  asked: Promise<void>;
  answer(): void;
  waits: Promise<void>;
  aborted: Promise<void>;
} {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const model: Model = {
    provider: 'slow',
    id: 'slow',
    async generate(_, { signal }) {
      asked.resolve();
      signal.addEventListener('abort', () => aborted.resolve());
      await Promise.race([answered.promise, aborted.promise]);
      signal.throwIfAborted();
      return { content: [{ type: 'text', text: 'at last' }], stop: 'end', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  return { model, asked: asked.promise, answer: answered.resolve, waits: answered.promise, aborted: aborted.promise };
}

export const textOf = (result: { content: readonly object[] }) =>
  result.content.map((block) => ('text' in block ? block.text : block)).join('\n');
