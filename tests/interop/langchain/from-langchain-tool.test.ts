import { tool } from '@langchain/core/tools';
import { defineAgent, runAgent, startRun } from 'coxswain';
import { fromLangChainTool } from 'coxswain/langchain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { results, turn } from '../../support/turns.ts';

type Foreign = ReturnType<typeof fromLangChainTool>;
const user = (foreign: Foreign) => defineAgent({ name: 'pilot', instructions: 'Sound.', tools: [foreign] });

async function call(foreign: Foreign, args: unknown) {
  const model = scriptedModel([turn([foreign.name, args]), 'done']);
  const { messages } = await runAgent(user(foreign), 'Go', { model });
  return results(messages)[0];
}

const READ = { access: 'read' } as const;
const schema = z.object({ mark: z.string() });
const FACTS = { name: 'depth', description: 'Water depth at a mark', schema };

test('a tool of LangChain is called like one of ours', async () => {
  const foreign = fromLangChainTool(
    tool(({ mark }) => `${mark}: 4.2 m`, FACTS),
    READ,
  );
  expect(foreign).toMatchObject({ name: 'depth', description: 'Water depth at a mark', ruleArg: undefined });
  expect(await call(foreign, { mark: 'bar' })).toEqual({ text: 'bar: 4.2 m', isError: false });
  expect(await call(foreign, { mark: 7 })).toMatchObject({ isError: true, text: expect.stringContaining('$.mark') });
});

test('it is execute and untrusted until it is told otherwise', async () => {
  const foreign = fromLangChainTool(tool(() => 'x', FACTS));
  expect(foreign).toMatchObject({ access: 'execute', risk: 'high', result: undefined });
  expect(await call(foreign, { mark: 'bar' })).toMatchObject({ isError: true });
});

test('a tool with a JSON Schema, and one that takes a text, are taken too', async () => {
  const plain = { ...FACTS, schema: { type: 'object', properties: { mark: { type: 'string' } }, required: ['mark'] } };
  const one = fromLangChainTool(
    tool((input) => `${(input as unknown as { mark: string }).mark}!`, plain as never),
    READ,
  );
  expect(await call(one, { mark: 'bar' })).toEqual({ text: 'bar!', isError: false });
  const two = fromLangChainTool(
    tool((input: string) => `${input}!`, { ...FACTS, schema: z.string() }),
    READ,
  );
  expect(await call(two, { input: 'bar' })).toEqual({ text: 'bar!', isError: false });
});

test('content blocks are parts, an artifact stays behind', async () => {
  const blocks = [
    { type: 'text', text: 'a chart' },
    { type: 'image', mimeType: 'image/png', data: 'aGk=' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
  ];
  const pair = tool(() => [blocks, { secret: 1 }], { ...FACTS, responseFormat: 'content_and_artifact' });
  const model = scriptedModel([turn(['depth', { mark: 'bar' }]), 'done']);
  const { messages } = await runAgent(user(fromLangChainTool(pair, READ)), 'Go', { model });
  const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' };
  expect(messages[2]).toMatchObject({ content: [{ type: 'text', text: 'a chart' }, image, image] });
  expect(JSON.stringify(messages)).not.toContain('secret');
});

test('what it writes is progress, and its signal is that of the call', async () => {
  let signal: AbortSignal | undefined;
  const told = tool((_, config) => {
    (config as { writer?: (chunk: unknown) => void }).writer?.({ at: 2 });
    signal = config.signal;
    return 'ok';
  }, FACTS);
  const run = startRun(user(fromLangChainTool(told, READ)), 'Go', {
    model: scriptedModel([turn(['depth', { mark: 'bar' }]), 'done']),
  });
  const notes: unknown[] = [];
  run.on('tool.progress', ({ progress }) => notes.push(progress.note));
  await run.result;
  expect(notes).toEqual(['{"at":2}']);
  expect(signal).toBeInstanceOf(AbortSignal);
});

test('a tool that throws, or hangs, is an error that names it', async () => {
  const throws = tool(() => {
    throw new Error('aground');
  }, FACTS);
  expect(await call(fromLangChainTool(throws, READ), { mark: 'bar' })).toEqual({
    text: 'depth failed: aground',
    isError: true,
  });
  const hangs = tool(() => new Promise<string>(() => {}), FACTS);
  const foreign = fromLangChainTool(hangs, { ...READ, timeoutMs: 20, graceMs: 1 });
  expect(await call(foreign, { mark: 'bar' })).toMatchObject({ isError: true });
});

test('more of the config comes from the code that took the tool', async () => {
  const asked = tool((_, config) => String(config.configurable?.user), FACTS);
  const foreign = fromLangChainTool(asked, { ...READ, config: ({ agent }) => ({ configurable: { user: agent } }) });
  expect(await call(foreign, { mark: 'bar' })).toMatchObject({ text: 'pilot' });
});

test('what is no tool is refused, and so is an option that is none', () => {
  expect(() => fromLangChainTool({} as never)).toThrow('fromLangChainTool.tool');
  expect(() =>
    fromLangChainTool(
      tool(() => 'x', FACTS),
      { name: 'my depth' },
    ),
  ).toThrow('tool my depth.name');
  expect(() =>
    fromLangChainTool(
      tool(() => 'x', FACTS),
      { strict: true } as object,
    ),
  ).toThrow('fromLangChainTool.strict');
});
