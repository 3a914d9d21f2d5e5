/** Structured output where an endpoint holds its models to the schemas of tools and to no other. */
import { defineAgent, defineTool, runAgent, startRun } from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { callTools, type FakeScript, fakeProvider, say, toolCall } from 'coxswain/testing';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

const search = defineTool({
  name: 'search',
  description: 'Searches',
  input: z.object({ query: z.string() }),
  access: 'read',
  execute: () => '48 m',
});
const output = z.object({ height: z.number() });
const plain = defineAgent({ name: 'solo', instructions: 'Answer.', output });
const searching = defineAgent({ name: 'solo', instructions: 'Answer.', output, tools: [search] });

async function provider(script: FakeScript) {
  const server = await fakeProvider(script);
  onTestFinished(() => server.close());
  return { server, model: anthropic('m', { baseURL: server.url }) };
}

const answer = (args: object | string) => toolCall('final_answer', args as never);
const told = (body: object | undefined) => {
  const { tools, tool_choice } = body as { tools?: readonly { name: string }[]; tool_choice?: object };
  return { tools: tools?.map(({ name }) => name), tool_choice };
};

test('the call is the answer, and the conversation goes on from it', async () => {
  const { server, model } = await provider([
    callTools(toolCall('search', { query: 'tower' })),
    callTools(answer({ height: 48 })),
    callTools(answer({ height: 49 })),
  ]);
  const first = await runAgent(searching, 'How high?', { model });
  expect(first).toMatchObject({ status: 'completed', output: { height: 48 }, text: '{"height":48}', toolCalls: 1 });
  const again = await runAgent(searching, [...first.messages, { role: 'user', content: 'Sure?' }], { model });
  expect(again).toMatchObject({ status: 'completed', output: { height: 49 } });
  for (const { body } of server.requests) {
    expect(told(body)).toEqual({ tools: ['search', 'final_answer'], tool_choice: undefined });
    expect(body.tools).toEqual(server.requests[0]?.body.tools);
  }
  const sent = server.requests[2]?.body.messages as readonly { role: string; content: readonly object[] }[];
  expect(sent.at(-2)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: '{"height":48}' }] });
});

test('it is forced where there is nothing else to call, and its arguments are told as text', async () => {
  const { server, model } = await provider([callTools(answer({ height: 48 }))]);
  const run = startRun(plain, 'How high?', { model });
  const heard: string[] = [];
  run.on('model.delta', ({ delta }) => heard.push(delta.type === 'tool_call' ? 'a call' : (delta.text ?? '')));
  expect(await run.result).toMatchObject({ status: 'completed', output: { height: 48 } });
  expect(heard.join('')).toBe('{"height":48}');
  expect(told(server.requests[0]?.body)).toEqual({
    tools: ['final_answer'],
    tool_choice: { type: 'tool', name: 'final_answer' },
  });
});

test('an answer that does not fit is asked for once more', async () => {
  const { server, model } = await provider([callTools(answer({ height: 'high' })), callTools(answer('{"height":4'))]);
  expect(await runAgent(plain, 'How high?', { model })).toMatchObject({ status: 'invalid_output' });
  expect(server.requests).toHaveLength(2);
  const right = await provider([callTools(answer('{"height":"high"}')), callTools(answer({ height: 48 }))]);
  expect(await runAgent(plain, 'How high?', { model: right.model })).toMatchObject({
    status: 'completed',
    output: { height: 48 },
  });
});

test('an answer in words counts too, and one beside other calls is a call like them', async () => {
  const words = await provider([say('It is:\n```json\n{"height":48}\n```')]);
  expect(await runAgent(searching, 'How high?', { model: words.model })).toMatchObject({ output: { height: 48 } });
  const { model } = await provider([
    callTools(toolCall('search', { query: 'tower' }), answer({ height: 1 })),
    callTools(answer({ height: 48 })),
  ]);
  const mixed = await runAgent(searching, 'How high?', { model });
  expect(mixed).toMatchObject({ status: 'completed', output: { height: 48 } });
  expect(mixed.messages.filter(({ role }) => role === 'tool')).toMatchObject([
    { name: 'search', isError: false },
    { name: 'final_answer', isError: true },
  ]);
});

test('what no tool can take is asked for in words, and a model that thinks is not forced', async () => {
  const { server, model } = await provider(() => '[48]');
  await runAgent(defineAgent({ name: 'solo', instructions: 'x', output: z.array(z.number()) }), 'How high?', { model });
  const own = defineTool({
    name: 'final_answer',
    description: 'Of the user',
    input: z.object({}),
    access: 'read',
    execute: () => 'x',
  });
  await runAgent(defineAgent({ name: 'solo', instructions: 'x', output, tools: [own] }), 'How high?', { model });
  const thinking = defineAgent({ name: 'solo', instructions: 'x', output, settings: { reasoningEffort: 'low' } });
  await runAgent(thinking, 'How high?', { model });
  expect(told(server.requests[0]?.body)).toEqual({ tools: undefined, tool_choice: undefined });
  expect(JSON.stringify(server.requests[0]?.body.system)).toContain('JSON Schema');
  const ofOwn = server.requests.find(({ body }) => told(body).tools !== undefined);
  expect(told(ofOwn?.body).tools).toEqual(['final_answer']);
  expect(JSON.stringify(ofOwn?.body.system)).toContain('JSON Schema');
  const last = server.requests.at(-1)?.body;
  expect(told(last)).toEqual({ tools: ['final_answer'], tool_choice: undefined });
  expect(last).toHaveProperty('thinking');
});
