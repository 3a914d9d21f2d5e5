import { defineAgent, defineTool, type Model, runAgent } from 'coxswain';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { type Answer, forecast, play, request, type Sent, silent } from './play.ts';

const look = defineTool({
  name: 'look',
  description: 'Look at one thing',
  input: z.object({
    n: z.number(),
    deep: z.object({ b: z.string().optional(), a: z.array(z.string()).optional() }).optional(),
  }),
  access: 'read',
  execute: ({ n }) => `seen ${n} \ud83d`,
});
const agent = defineAgent({ name: 'solo', instructions: 'Look, then say.', tools: [look] });

/** Two calls, thoughts beside them, three times, then an answer; in each protocol's own words. */
const SPEECH: { readonly [protocol: string]: (n: number) => object } = {
  chat: (n) => ({
    id: `c${n}`,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message:
          n < 4
            ? {
                role: 'assistant',
                content: null,
                reasoning_content: `Hm ${n}.`,
                tool_calls: [1, 2].map((k) => ({
                  id: `call_${n}_${k}`,
                  type: 'function',
                  function: { name: 'look', arguments: `{"n":${n}${k}}` },
                })),
              }
            : { role: 'assistant', content: 'Done.' },
      },
    ],
  }),
  responses: (n) => ({
    id: `r${n}`,
    status: 'completed',
    output:
      n < 4
        ? [
            { type: 'reasoning', id: `rs_${n}`, summary: [], encrypted_content: `ZW5j${n}` },
            ...[1, 2].map((k) => ({
              type: 'function_call',
              id: `fc_${n}_${k}`,
              call_id: `call_${n}_${k}`,
              name: 'look',
              arguments: `{"n":${n}${k}}`,
            })),
          ]
        : [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }],
  }),
  messages: (n) => ({
    id: `m${n}`,
    type: 'message',
    role: 'assistant',
    stop_reason: n < 4 ? 'tool_use' : 'end_turn',
    content:
      n < 4
        ? [
            { type: 'thinking', thinking: `Hm ${n}.`, signature: 'c2ln' },
            ...[1, 2].map((k) => ({ type: 'tool_use', id: `toolu_${n}_${k}`, name: 'look', input: { n: 10 * n + k } })),
          ]
        : [{ type: 'text', text: 'Done.' }],
  }),
};
const answers = (protocol: string): Answer[] => [1, 2, 3, 4].map((n) => ({ body: SPEECH[protocol]?.(n) }));

function modelAt(url: string, protocol: string): Model {
  if (protocol === 'messages') return anthropic('claude-x', { baseURL: url, stream: false });
  return openai('m', { baseURL: `${url}/v1`, api: protocol === 'chat' ? 'chat' : 'responses', stream: false });
}

/** Instructions, tools and the pieces of the transcript as the bytes that were sent, without marks. */
function bytesOf(body: Sent): { head: string; pieces: string[] } {
  const text = (value: unknown) => JSON.stringify(value, (key, item) => (key === 'cache_control' ? undefined : item));
  const { messages, input, ...rest } = body;
  const list = (input ?? messages ?? []) as { role?: string; content?: unknown }[];
  // A user message of Anthropic's may grow, since roles alternate: its blocks are the pieces.
  const pieces = list.flatMap(({ role, content, ...more }) =>
    Array.isArray(content) ? content.map((block) => text([role, block])) : [text({ role, content, ...more })],
  );
  return { head: text(rest), pieces };
}

describe.each(['chat', 'responses', 'messages'])('by %s, each request', (protocol) => {
  test('begins with the bytes of the one before', async () => {
    const server = await play(...answers(protocol));
    const result = await runAgent(agent, 'Look around.', { model: modelAt(server.url, protocol) });
    const again = await runAgent(agent, [...result.messages, { role: 'user', content: 'More?' }], {
      model: modelAt(server.url, protocol),
    });
    expect([result.status, again.status]).toEqual(['completed', 'completed']);
    const sent = server.requests.map(({ body }) => bytesOf(body));
    expect(sent).toHaveLength(5);
    for (const [index, { head, pieces }] of sent.entries()) {
      const before = sent[index - 1];
      if (before === undefined) continue;
      expect(head).toBe(before.head);
      expect(pieces.slice(0, before.pieces.length)).toEqual(before.pieces);
      expect(pieces.length).toBeGreaterThan(before.pieces.length);
    }
  });
});

describe('Anthropic is told to keep', () => {
  const mark = { type: 'ephemeral' };
  const marksOf = async (options: object, part: object = { tools: [forecast] }) => {
    const server = await play({ body: SPEECH.messages?.(4) });
    await anthropic('claude-x', { baseURL: server.url, ...options }).generate(request(part), silent);
    const paths: string[] = [];
    const walk = (value: unknown, path: string) => {
      if (value === null || typeof value !== 'object') return;
      for (const [key, item] of Object.entries(value)) {
        if (key === 'cache_control') paths.push(`${path} ${JSON.stringify(item)}`);
        else walk(item, `${path}/${key}`);
      }
    };
    walk(server.requests[0]?.body, '');
    return paths;
  };
  const conversation = [1, 2, 3].flatMap((n) => [
    { role: 'user', content: `Question ${n}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${n}` }] },
  ]);
  const messages = [...conversation, { role: 'user', content: 'Last.' }];

  test('tools, instructions, the end of the transcript and where the request before ended: four marks at most', async () => {
    const at = (path: string) => `${path} ${JSON.stringify(mark)}`;
    expect(await marksOf({}, { tools: [forecast], messages })).toEqual(
      ['/system/0', '/messages/4/content/0', '/messages/6/content/0', '/tools/0'].map(at),
    );
  });
  test('only the instructions of a single question without tools', async () => {
    expect(await marksOf({}, {})).toEqual(['/system/0 {"type":"ephemeral"}']);
  });
  test('an hour long with 1h, nothing with false, nothing of ours where the user marks', async () => {
    expect((await marksOf({ cache: '1h' }))[0]).toContain('"ttl":"1h"');
    expect(await marksOf({ cache: false })).toEqual([]);
    expect(await marksOf({ extra: { cache_control: { type: 'ephemeral' } } })).toEqual([' {"type":"ephemeral"}']);
  });
});
