import { Anthropic } from '@anthropic-ai/sdk';
import { defineAgent, defineTool, ModelError, type ModelTurn, runAgent, startRun } from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { openai } from 'coxswain/openai';
import { callTools, type FakeScript, fakeProvider, say, toolCall } from 'coxswain/testing';
import { OpenAI } from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventsOf } from '../support/turns.ts';

async function provider(script: FakeScript) {
  const started = await fakeProvider(script);
  onTestFinished(() => started.close());
  return started;
}

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  access: 'read',
  execute: (args) => `seen ${(args as { at: string }).at}`,
});
const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look] });
const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 };
const asks = (): ModelTurn => ({
  content: [
    { type: 'text', text: 'Let me look at "both".' },
    ...callTools(toolCall('look', { at: 'a "b"\n' }, 'c1'), toolCall('look', { at: 'c' }, 'c2')).content,
  ],
  stop: 'tool_calls',
  usage,
});

type Retry = { readonly retries: number; readonly baseMs?: number };

const ADAPTERS = {
  chat: (url: string, retry: Retry = { retries: 0 }) => openai('fake', { baseURL: url, retry }),
  responses: (url: string, retry: Retry = { retries: 0 }) => openai('fake', { baseURL: url, api: 'responses', retry }),
  messages: (url: string, retry: Retry = { retries: 0 }) => anthropic('fake', { baseURL: url, apiKey: 'none', retry }),
};

describe.each(Object.entries(ADAPTERS))('a fake provider that speaks %s', (protocol, model) => {
  it.each([true, false])('plays turns with calls, text and usage (streaming: %s)', async (streams) => {
    const server = await provider([asks(), say('It is done, twice.', usage)]);
    const run = startRun(agent, 'go', { model: model(server.url) });
    if (streams) run.on('model.delta', () => {});
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'It is done, twice.', toolCalls: 2 });
    expect(result.usage).toMatchObject({ inputTokens: 200, outputTokens: 40, cachedInputTokens: 80 });
    const tools = result.messages.filter(({ role }) => role === 'tool');
    expect(tools).toMatchObject([
      { callId: 'c1', content: 'seen a "b"\n' },
      { callId: 'c2', content: 'seen c' },
    ]);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[0]).toMatchObject({ protocol, body: { model: 'fake' } });
    expect(server.requests[0]?.body.stream ?? false).toBe(streams);
    expect(JSON.stringify(server.requests[1]?.body)).toContain('Let me look at');
  });

  it.each([
    'auth',
    'permission',
    'not_found',
    'invalid_request',
    'request_too_large',
    'quota',
    'context_length',
    'rate_limit',
    'overloaded',
    'server_error',
    'network',
    'timeout',
    'content_filter',
    'refusal',
    'output_truncated',
    'malformed_response',
  ] as const)('says %s so that it is understood', async (kind) => {
    const server = await provider([new ModelError(kind, 'for the test', { retryAfterMs: 1_500 })]);
    const result = await runAgent(agent, 'go', { model: model(server.url, { retries: 0 }) });
    expect(result).toMatchObject({ status: 'model_error', error: { kind } });
  });

  it('says an empty response, after which the run asks once more', async () => {
    const server = await provider([new ModelError('empty_response', 'for the test'), 'Well.']);
    expect(await runAgent(agent, 'go', { model: model(server.url) })).toMatchObject({ text: 'Well.' });
    expect(server.requests).toHaveLength(2);
  });

  it('tells the client what a script of code threw, and of what is no answer', async () => {
    const server = await provider(({ body }) => {
      if (body.stream === true) return { trun: 'x' } as never;
      throw new Error('no such page');
    });
    const threw = await runAgent(agent, 'go', { model: model(server.url) });
    expect(threw).toMatchObject({
      error: { kind: 'invalid_request', message: expect.stringContaining('no such page') },
    });
    const run = startRun(agent, 'go', { model: model(server.url) });
    run.on('model.delta', () => {});
    expect(await run.result).toMatchObject({ error: { message: expect.stringContaining('answer.trun') } });
  });

  it('refuses, and cuts an answer at its length', async () => {
    const server = await provider([
      { ...say('I will not.'), stop: 'refused' },
      { ...callTools(toolCall('look')), stop: 'length' },
    ]);
    const ends = [
      await runAgent(agent, 'go', { model: model(server.url) }),
      await runAgent(agent, 'go', { model: model(server.url) }),
    ];
    expect(ends).toMatchObject([{ error: { kind: 'refusal' } }, { error: { kind: 'output_truncated' } }]);
  });

  it('breaks a stream where it is told to, and falls silent', async () => {
    const server = await provider([{ turn: 'never whole', disconnectAfter: 2 }, 'whole']);
    const run = startRun(agent, 'go', { model: model(server.url, { retries: 1, baseMs: 1 }) });
    run.on('model.delta', () => {});
    const events = eventsOf(run);
    expect(await run.result).toMatchObject({ text: 'whole' });
    expect((await events).filter(({ type }) => type === 'model.retry')).toMatchObject([{ error: { kind: 'network' } }]);
    const half = await provider([{ turn: 'never whole', disconnectAfter: 0 }]);
    expect(await runAgent(agent, 'go', { model: model(half.url) })).toMatchObject({ error: { kind: 'network' } });
    const silent = await provider([{ turn: 'never whole', silentAfter: 2 }]);
    const waiting = startRun(agent, 'go', { model: model(silent.url), limits: { timeMs: 300 } });
    waiting.on('model.delta', () => {});
    expect((await waiting.result).status).toBe('timeout');
  });

  it('waits, sends what it is told byte for byte, and ends with its script', async () => {
    const server = await provider([
      { turn: 'late', delayMs: 60, pauseMs: 1 },
      { status: 502, body: '<html>bad gateway</html>' },
    ]);
    const since = performance.now();
    expect(await runAgent(agent, 'go', { model: model(server.url) })).toMatchObject({ text: 'late' });
    expect(performance.now() - since).toBeGreaterThanOrEqual(55);
    expect(await runAgent(agent, 'go', { model: model(server.url) })).toMatchObject({
      error: { kind: 'server_error' },
    });
    const over = await runAgent(agent, 'go', { model: model(server.url) });
    expect(over).toMatchObject({
      error: { message: expect.stringMatching(/the script is over: it had 2 answers, this is request 3/) },
    });
  });
});

describe('a fake provider', () => {
  it('has a script for each model, or a function of the request', async () => {
    const server = await provider({ a: ['from a'], b: ['from b'] });
    const ask = (id: string) =>
      runAgent(agent, 'go', { model: openai(id, { baseURL: server.url, retry: { retries: 0 } }) });
    expect([(await ask('b')).text, (await ask('a')).text]).toEqual(['from b', 'from a']);
    expect(await ask('c')).toMatchObject({
      error: { message: expect.stringMatching(/no script for the model \\?"c\\?"/) },
    });
    const echo = await provider(({ body }) => `you asked ${body.model}`);
    expect((await runAgent(agent, 'go', { model: openai('me', { baseURL: echo.url }) })).text).toBe('you asked me');
  });

  it('closes what is open', async () => {
    const server = await fakeProvider([{ turn: 'x', silentAfter: 0 }]);
    const run = startRun(agent, 'go', { model: openai('x', { baseURL: server.url, retry: { retries: 0 } }) });
    run.on('model.delta', () => {});
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    expect(await run.result).toMatchObject({ error: { kind: 'network' } });
    await server.close();
  });

  it('refuses a script that holds what is no answer', async () => {
    for (const [script, field] of [
      ['Hello', /script: expected answers/],
      [[{ trun: 'x' }], /script\[0\]\.trun: unknown option/],
      [['x', 5], /script\[1\]/],
      [{ fake: 'x' }, /script\["fake"\]: expected a list/],
      [{ fake: [{ delay: 5 }] }, /script\["fake"\]\[0\]\.delay/],
    ] as const) {
      await expect(fakeProvider(script as never)).rejects.toThrow(field);
    }
  });

  it('speaks Responses as the SDK reads it', async () => {
    const server = await provider([asks(), asks(), { ...say('half', usage), stop: 'length' }]);
    const client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const whole = await client.responses.create({ model: 'fake', input: 'go' });
    expect(whole.output_text).toBe('Let me look at "both".');
    const types: string[] = [];
    const texts: string[] = [];
    const stream = await client.responses.create({ model: 'fake', input: 'go', stream: true });
    let last: unknown;
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') texts.push(event.delta);
      if (event.type === 'response.completed') last = event.response.output;
    }
    expect(texts.join('')).toBe('Let me look at "both".');
    expect(types.at(0)).toBe('response.created');
    expect(types.at(-1)).toBe('response.completed');
    expect(last).toMatchObject([
      { type: 'message' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"a \\"b\\"\\n"}' },
      { call_id: 'c2' },
    ]);
    const cut = await client.responses.create({ model: 'fake', input: 'go' });
    expect(cut).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { input_tokens: 100 },
    });
  });

  it('is read by the SDKs’ own helpers', async () => {
    const server = await provider([asks(), asks()]);
    const chat = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const completion = await chat.chat.completions
      .stream({ model: 'x', messages: [{ role: 'user', content: 'go' }] })
      .finalChatCompletion();
    expect(completion.choices[0]?.message.tool_calls).toHaveLength(2);
    const messages = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const message = await messages.messages
      .stream({ model: 'x', max_tokens: 100, messages: [{ role: 'user', content: 'go' }] })
      .finalMessage();
    expect(message.content.map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_use']);
  });
});
