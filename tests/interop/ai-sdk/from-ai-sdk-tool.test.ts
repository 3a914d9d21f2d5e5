import { jsonSchema, type Tool, tool, zodSchema } from 'ai';
import { defineAgent, runAgent, startRun } from 'coxswain';
import { fromAiSdkTool } from 'coxswain/ai-sdk';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { results, turn } from '../../support/turns.ts';

const NAME = { name: 'depth', access: 'read' } as const;
const user = (foreign: ReturnType<typeof fromAiSdkTool>) =>
  defineAgent({ name: 'pilot', instructions: 'Sound.', tools: [foreign] });

/** What the model reads of one call. */
async function call(foreign: ReturnType<typeof fromAiSdkTool>, args: unknown) {
  const model = scriptedModel([turn([foreign.name, args]), 'done']);
  const { messages } = await runAgent(user(foreign), 'Go', { model, permissions: { mode: 'acceptAll' } });
  return results(messages)[0];
}

const depth = tool({
  description: 'Water depth at a mark',
  inputSchema: z.object({ mark: z.string(), unit: z.string().default('m') }),
  execute: async ({ mark, unit }) => ({ mark, depth: `4.2 ${unit}` }),
});

test('a tool of the AI SDK is called like one of ours, with parsed arguments', async () => {
  expect(await call(fromAiSdkTool(depth, NAME), { mark: 'bar' })).toEqual({
    text: '{"mark":"bar","depth":"4.2 m"}',
    isError: false,
  });
});

test('it is execute and untrusted until it is told otherwise, and has no ruleArg of its own', async () => {
  const foreign = fromAiSdkTool(depth, { name: 'depth' });
  expect(foreign).toMatchObject({ access: 'execute', risk: 'high', sideEffect: 'unsafe', ruleArg: undefined });
  const denied = scriptedModel([turn(['depth', { mark: 'bar' }]), 'done']);
  const { messages } = await runAgent(user(foreign), 'Go', { model: denied });
  expect(results(messages)[0]).toMatchObject({ isError: true, text: expect.stringContaining('denied') });
  expect(fromAiSdkTool(depth, { ...NAME, result: { integrity: 'trusted' } }).result).toEqual({ integrity: 'trusted' });
});

test.each([
  ['jsonSchema', jsonSchema({ type: 'object', properties: { mark: { type: 'string' } }, required: ['mark'] })],
  ['zodSchema', zodSchema(z.object({ mark: z.string() }))],
  ['a schema that is made late', () => zodSchema(z.object({ mark: z.string() }))],
])('a schema by %s is checked before the tool is called', async (_, inputSchema) => {
  let calls = 0;
  const counted = { description: 'Counts.', inputSchema, execute: () => ++calls } as unknown as Tool;
  const foreign = fromAiSdkTool(counted, NAME);
  expect(await call(foreign, { mark: 7 })).toMatchObject({ isError: true, text: expect.stringContaining('$.mark') });
  expect(await call(foreign, { mark: 'bar' })).toEqual({ text: '1', isError: false });
});

test("the AI SDK's own validation has the last word, and its defaults are filled in", async () => {
  const inputSchema = zodSchema(z.object({ mark: z.string().default('bar') }).refine(({ mark }) => mark !== 'rock'));
  const foreign = fromAiSdkTool(tool({ description: 'Says.', inputSchema, execute: ({ mark }) => mark }), NAME);
  expect(await call(foreign, {})).toEqual({ text: 'bar', isError: false });
  expect(await call(foreign, { mark: 'rock' })).toMatchObject({ isError: true });
});

test('what it yields on its way is progress, and the last is the result', async () => {
  const slow = tool({
    description: 'Sounds.',
    inputSchema: z.object({}),
    async *execute() {
      yield 'lowering';
      yield { at: 2 };
      yield '4.2 m';
    },
  });
  const foreign = fromAiSdkTool(slow, NAME);
  const run = startRun(user(foreign), 'Go', { model: scriptedModel([turn(['depth']), 'done']) });
  const notes: unknown[] = [];
  run.on('tool.progress', ({ progress }) => notes.push(progress.note));
  expect(results((await run.result).messages)[0]?.text).toBe('4.2 m');
  expect(notes).toEqual(['lowering', '{"at":2}']);
});

test('a tool that yields without end is ended by its timeout', async () => {
  let isClosed = false;
  const endless = tool({
    description: 'Never ends.',
    inputSchema: z.object({}),
    async *execute() {
      try {
        for (;;) yield 'more';
      } finally {
        isClosed = true;
      }
    },
  });
  const foreign = fromAiSdkTool(endless, { ...NAME, timeoutMs: 30 });
  expect(await call(foreign, {})).toMatchObject({ isError: true, text: expect.stringMatching(/30 ms|timed out|time/) });
  expect(isClosed).toBe(true);
});

test('toModelOutput says what the model reads, also pictures, errors and denials', async () => {
  const gives = (output: unknown) =>
    fromAiSdkTool(
      { description: 'Gives.', inputSchema: z.object({}), execute: () => 1, toModelOutput: () => output } as never,
      NAME,
    );
  expect(await call(gives({ type: 'text', value: 'four' }), {})).toEqual({ text: 'four', isError: false });
  expect(await call(gives({ type: 'json', value: { four: 4 } }), {})).toMatchObject({ text: '{"four":4}' });
  expect(await call(gives({ type: 'error-text', value: 'aground' }), {})).toMatchObject({
    isError: true,
    text: 'aground',
  });
  expect(await call(gives({ type: 'execution-denied' }), {})).toMatchObject({ isError: true });
  const content = [
    { type: 'text', text: 'a chart' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: {} } },
  ];
  const model = scriptedModel([turn(['depth']), 'done']);
  const { messages } = await runAgent(user(gives({ type: 'content', value: content })), 'Go', { model });
  expect(messages[2]).toMatchObject({
    content: [
      { type: 'text', text: 'a chart' },
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      { type: 'text', text: '[file: not shown]' },
    ],
  });
});

test('its abort signal is that of the call, and it knows nothing of the conversation', async () => {
  let given: { abortSignal?: AbortSignal; messages?: unknown; context?: unknown } = {};
  const waits = {
    description: 'Waits.',
    inputSchema: z.object({}),
    execute: (_: unknown, options: typeof given) => {
      given = options;
      return new Promise(() => {});
    },
  } as unknown as Tool;
  const foreign = fromAiSdkTool(waits, { ...NAME, timeoutMs: 20, graceMs: 1, context: ({ agent }) => ({ agent }) });
  expect(await call(foreign, {})).toMatchObject({ isError: true });
  expect(given.abortSignal?.aborted).toBe(true);
  expect(given).toMatchObject({ messages: [], context: { agent: 'pilot' } });
});

test('what it asks a person for is asked here', () => {
  expect(fromAiSdkTool({ ...depth, needsApproval: async () => true } as Tool, NAME).needsApproval).toBe(true);
  expect(fromAiSdkTool(depth, NAME).needsApproval).toBe(false);
});

test.each([
  ['no tool', undefined, NAME, 'fromAiSdkTool.tool'],
  ['a tool that runs elsewhere', { description: 'x', inputSchema: z.object({}) }, NAME, 'fromAiSdkTool.tool'],
  ['no name', depth, {}, 'fromAiSdkTool.name'],
  ['a name that no model takes', depth, { name: 'my depth' }, 'tool my depth.name'],
  ['an option that is none', depth, { ...NAME, strict: true }, 'fromAiSdkTool.strict'],
  ['no description', { ...depth, description: undefined }, NAME, 'fromAiSdkTool.description'],
  [
    'a schema that cannot be made',
    {
      ...depth,
      inputSchema: () => {
        throw new Error('no');
      },
    },
    NAME,
    'fromAiSdkTool.tool.inputSchema',
  ],
  ['a schema to come', { ...depth, inputSchema: jsonSchema(async () => ({})) }, NAME, 'fromAiSdkTool.tool.inputSchema'],
])('%s is refused, and the field named', (_, given, options, field) => {
  expect(() => fromAiSdkTool(given as Tool, options as typeof NAME)).toThrow(expect.objectContaining({ field }));
});
