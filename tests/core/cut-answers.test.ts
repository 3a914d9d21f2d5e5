import {
  ConfigurationError,
  defineAgent,
  defineTool,
  type Message,
  type Model,
  ModelError,
  type ModelTurn,
  type RunRecord,
  runAgent,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pairing, text, turn } from '../support/turns.ts';

const solo = defineAgent({ name: 'solo', instructions: 'x' });
const cut = (content: string): ModelTurn => ({ ...text(content), stop: 'length' });
const keysOf = (records: readonly RunRecord[]) =>
  records.filter(({ kind, event }) => kind === 'model' && event === 'done').map(({ key }) => key);

describe('an answer that is cut at its length limit', () => {
  it('inside its text is gone on with, outside of steps, and its pieces are one answer', async () => {
    const records: RunRecord[] = [];
    const model = scriptedModel([cut('One, '), cut('two, '), 'three.']);
    const agent = defineAgent({ name: 'solo', instructions: 'x', limits: { steps: 1 } });
    const result = await runAgent(agent, 'Count', { model, views: [(record) => records.push(record)] });
    expect(result).toMatchObject({
      status: 'completed',
      text: 'One, two, three.',
      output: 'One, two, three.',
      steps: 1,
    });
    expect(result.usage.modelCalls).toBe(3);
    expect(keysOf(records)).toEqual(['solo/1/model', 'solo/1/@continue', 'solo/1/@continue.2']);
    const [first, second, third] = model.requests.map(({ messages }) => messages);
    expect(third?.slice(0, second?.length)).toEqual(second);
    expect(second?.slice(0, first?.length)).toEqual(first);
  });

  it('again and again is output_truncated after three continuations, with what was said', async () => {
    const model = scriptedModel([cut('a'), cut('b'), cut('c'), cut('d'), 'e']);
    const result = await runAgent(solo, 'Go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'output_truncated' }, text: 'abcd' });
    expect(model.requests).toHaveLength(4);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('may end in calls', async () => {
    const tool = defineTool({
      name: 't',
      description: 't',
      access: 'read',
      input: z.object({}),
      execute: () => 'found',
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool] });
    const model = scriptedModel([cut('I look'), turn(['t']), 'Done.']);
    const result = await runAgent(agent, 'Go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', toolCalls: 1 });
    expect(pairing(result.messages)).toBe('ok');
  });

  it('is whole where the model has nothing to add', async () => {
    const model = scriptedModel([cut('All of it.'), '']);
    expect(await runAgent(solo, 'Go', { model })).toMatchObject({ status: 'completed', text: 'All of it.' });
  });

  it('is parsed as one where it has a form, and so is its repair', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', output: z.object({ n: z.number() }) });
    const pieces = scriptedModel([cut('{"n":'), '1}']);
    expect(await runAgent(agent, 'Go', { model: pieces })).toMatchObject({ status: 'completed', output: { n: 1 } });
    const repaired = scriptedModel([cut('{"n":'), '"1"}', cut('{"n"'), ':2}']);
    expect(await runAgent(agent, 'Go', { model: repaired })).toMatchObject({ status: 'completed', output: { n: 2 } });
  });

  it.each([
    ['inside or after a call', { ...turn(['t']), stop: 'length' as const }],
    ['before it said anything', { content: [{ type: 'reasoning' as const }], stop: 'length' as const }],
  ])('%s is output_truncated at once', async (_where, given) => {
    const model = scriptedModel([given, 'never asked']);
    const result = await runAgent(solo, 'Go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'output_truncated' } });
    expect(model.requests).toHaveLength(1);
  });
});

describe('a request that the provider finds too long', () => {
  const history: Message[] = Array.from({ length: 20 }, (_, index): Message[] => [
    { role: 'user', content: `Question ${index}. ${'word '.repeat(50)}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${index}.` }] },
  ]).flat();
  const tooLong = () => new ModelError('context_length', 'maximum context length is 512 tokens');

  it('is cut once and asked again, and stays short', async () => {
    const records: RunRecord[] = [];
    const model = scriptedModel([tooLong(), 'Short now.']);
    const input = [...history, { role: 'user', content: 'Last.' } as const];
    const result = await runAgent(solo, input, { model, views: [(record) => records.push(record)] });
    expect(result).toMatchObject({ status: 'completed', text: 'Short now.', steps: 1 });
    const [long, short] = model.requests.map(({ messages }) => messages);
    expect(short?.length).toBeLessThan((long?.length ?? 0) / 1.5);
    expect([short?.[0], short?.at(-1)]).toMatchObject([{ content: history[0]?.content }, { content: 'Last.' }]);
    expect(records.filter(({ kind }) => kind === 'context')).toHaveLength(1);
    expect(keysOf(records)).toEqual(['solo/1/@shorter']);
  });

  it('is the error itself where nothing can be cut, after one request', async () => {
    const model = scriptedModel([tooLong(), 'never asked']);
    const result = await runAgent(solo, 'Hi', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'context_length' } });
    expect(model.requests).toHaveLength(1);
  });

  it('is context_limit where the shorter one is too long as well', async () => {
    const model = scriptedModel([tooLong(), tooLong(), 'never asked']);
    const result = await runAgent(solo, [...history, { role: 'user', content: 'Last.' }], { model });
    expect(result).toMatchObject({ status: 'context_limit' });
    expect(model.requests).toHaveLength(2);
  });
});

describe('what a failed call cost', () => {
  const usage = { inputTokens: 100, outputTokens: 20 };
  it('is counted where the provider reported it, also over retries', async () => {
    const filtered = new ModelError('content_filter', 'x', { usage });
    const result = await runAgent(solo, 'Go', { model: scriptedModel([filtered]) });
    expect(result).toMatchObject({ status: 'model_error', usage: { ...usage, modelCalls: 1, modelCallsWithUsage: 1 } });
    const broken = new ModelError('malformed_response', 'x', { usage, retryable: true });
    const model = scriptedModel([broken, text('ok', usage)], { retry: { baseMs: 1 } });
    const retried = await runAgent(solo, 'Go', { model });
    expect(retried.usage).toMatchObject({ inputTokens: 200, outputTokens: 40, modelCalls: 1 });
  });

  it('counts against a token limit', async () => {
    const model = scriptedModel([new ModelError('refusal', 'x', { usage }), 'ok']);
    const worker = defineAgent({ name: 'worker', input: z.object({}), instructions: 'x' });
    const both = defineAgent({
      name: 'both',
      input: z.object({}),
      run: async (_input, ctx) => {
        await ctx.call(worker, {}, { id: 'first' }).catch(() => {});
        return ctx.call(worker, {}, { id: 'second' });
      },
    });
    const result = await runAgent(both, {}, { model, limits: { tokens: 125 } });
    expect(result).toMatchObject({ usage: { inputTokens: 100, outputTokens: 20 } });
    expect(model.requests).toHaveLength(1);
  });
});

describe('the model', () => {
  it('that the provider reports is recorded per call, and a change of it is a record', async () => {
    const records: RunRecord[] = [];
    const tool = defineTool({ name: 't', description: 't', access: 'read', input: z.object({}), execute: () => 'x' });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool] });
    const model = scriptedModel([
      { ...turn(['t']), response: { model: 'm-1' } },
      { ...text('ok'), response: { model: 'm-2' } },
    ]);
    await runAgent(agent, 'Go', { model, views: [(record) => records.push(record)] });
    const changes = records.filter(({ kind }) => kind === 'once');
    expect(changes).toMatchObject([{ key: 'solo/2/@version', value: { from: 'm-1', to: 'm-2' } }]);
  });

  it('that cannot take the request says so before anything is sent', async () => {
    const model: Model = {
      ...scriptedModel(['never asked']),
      check: () => {
        throw new ConfigurationError('tools', 'too many', 'Give fewer.');
      },
    };
    await expect(runAgent(solo, 'Go', { model })).rejects.toBeInstanceOf(ConfigurationError);
  });

  it('may be forced to call a tool, and then to answer', async () => {
    const tool = defineTool({ name: 't', description: 't', access: 'read', input: z.object({}), execute: () => 'x' });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool], settings: { toolChoice: 'required' } });
    const model = scriptedModel([turn(['t']), 'ok']);
    await runAgent(agent, 'Go', { model });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', 'auto']);
  });
});
