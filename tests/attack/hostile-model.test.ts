import { defineAgent, defineTool, type Model, ModelError, type ModelRequest, runAgent, startRun } from 'coxswain';
import { describe, expect, it } from 'vitest';
import { pairing, text } from '../support/turns.ts';

const agent = defineAgent({ name: 'solo', instructions: 'Answer.' });
const read = defineTool({ name: 'read', description: 'Reads', input: {}, access: 'read', execute: () => 'page' });
const reader = defineAgent({ name: 'solo', instructions: 'Answer.', tools: [read] });

/** A model that is anybody's code: what it gives is no turn that a type would know. */
function model(generate: (request: ModelRequest, call: number) => unknown, more: Partial<Model> = {}): Model {
  let calls = 0;
  const given = async (request: ModelRequest) => {
    calls += 1;
    return generate(request, calls);
  };
  return { provider: 'any', id: 'any', generate: given as Model['generate'], ...more };
}

describe('a turn of a model that is anybody’s code', () => {
  it('is read once: what a getter gives later is not looked at', async () => {
    let reads = 0;
    const part = {
      type: 'text',
      get text() {
        reads += 1;
        return reads === 1 ? 'said' : { other: true };
      },
    };
    const usage = {
      get inputTokens() {
        reads += 1;
        return reads <= 2 ? 7 : Number.NaN;
      },
      outputTokens: 1,
    };
    const result = await runAgent(agent, 'go', { model: model(() => ({ content: [part], stop: 'end', usage })) });
    expect(result).toMatchObject({ status: 'completed', text: 'said', usage: { inputTokens: 7 } });
  });

  it('is checked part by part, whatever its list says of itself', async () => {
    const lying = Object.assign([{ type: 'text', text: 'said' }], { map: () => [5, { type: 'text', text: {} }] });
    const said = await runAgent(agent, 'go', { model: model(() => ({ content: lying, stop: 'end' })) });
    expect(said).toMatchObject({ status: 'completed', text: 'said' });
    const sparse: unknown[] = [];
    sparse.length = 2 ** 32 - 1;
    const holes = await runAgent(agent, 'go', { model: model(() => ({ content: sparse, stop: 'end' })) });
    expect(holes).toMatchObject({ status: 'model_error', error: { kind: 'malformed_response' } });
  });

  it('gets an id of its own for each call, also where a missing one would be given twice', async () => {
    const call = (id: string) => ({ type: 'tool_call', id, name: 'read', arguments: '{}' });
    const turn = { content: [call('call_1_1'), call(''), call('call_1_1')], stop: 'tool_calls' };
    const result = await runAgent(reader, 'go', { model: model((_, nth) => (nth === 1 ? turn : text('done'))) });
    const ids = result.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
    expect(new Set(ids).size).toBe(3);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('counts although its promise has a then of its own', async () => {
    const lying = Object.defineProperty(Promise.resolve(text('said')), 'then', { value: () => 5 });
    const generate = (() => lying) as unknown as Model['generate'];
    const result = await runAgent(agent, 'go', { model: { provider: 'any', id: 'any', generate } });
    expect(result).toMatchObject({ status: 'completed', text: 'said' });
  });
});

describe('the request of a model that is anybody’s code', () => {
  it('is whole again at a retry, and in the record, whatever was done to it', async () => {
    const sent: number[] = [];
    const recorded: unknown[] = [];
    const spoiling = model(
      (request, nth) => {
        const messages = request.messages as unknown as { role: string; content: string }[];
        sent.push(messages.length);
        expect(messages[0]?.content).toBe('go');
        messages[0] = { role: 'user', content: 'something else' };
        if (nth === 1) throw new ModelError('overloaded', 'busy');
        return text('done');
      },
      { retry: { retries: 1, baseMs: 1 } },
    );
    const result = await runAgent(agent, 'go', {
      model: spoiling,
      views: [(record) => record.kind === 'model' && record.event === 'started' && recorded.push(record.request)],
    });
    expect(result.status).toBe('completed');
    expect(sent).toEqual([1, 1]);
    for (const request of recorded) expect(request).toMatchObject({ messages: [{ role: 'user', content: 'go' }] });
  });

  it('holds nothing that a model could change for its next request', async () => {
    const output = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } as const;
    const typed = defineAgent({ name: 'solo', instructions: 'Answer.', tools: [read], output, settings: { seed: 1 } });
    const seen: string[] = [];
    const spoiling = model((request, nth) => {
      const { messages: _, ...rest } = request;
      seen.push(JSON.stringify(rest));
      const parts = [request.output, request.output?.schema, request.settings, request.tools, request.tools[0]];
      for (const part of parts) Reflect.set(part as object, 'name', 'changed');
      const call = { type: 'tool_call', id: 'c', name: 'read', arguments: '{}' };
      return nth === 1 ? { content: [call], stop: 'tool_calls' } : text('{"a":1}');
    });
    expect((await runAgent(typed, 'go', { model: spoiling })).status).toBe('completed');
    expect(seen[1]).toBe(seen[0]);
  });
});

describe('the stream of a model that is anybody’s code', () => {
  it('is shown as it was told, and what is no delta is left out', async () => {
    const streaming: Model = {
      provider: 'any',
      id: 'any',
      async generate(_, { onDelta }) {
        const tell = onDelta as ((delta: unknown) => void) | undefined;
        for (const wrong of [undefined, null, 5, {}, { type: 'text' }, { type: 'text', text: 5 }]) tell?.(wrong);
        const reused = { type: 'text', text: '' };
        for (const piece of ['a', 'b', 'c']) {
          reused.text = piece;
          tell?.(reused);
        }
        return text('abc');
      },
    };
    const run = startRun(agent, 'go', { model: streaming });
    const deltas: unknown[] = [];
    run.on('model.delta', (event) => deltas.push(event.delta));
    let shown = '';
    for await (const chunk of run.text()) shown += chunk;
    expect(shown).toBe('abc');
    expect(deltas.map((delta) => (delta as { text: string }).text)).toEqual(['a', 'b', 'c']);
  });
});

it('an error whose members throw when they are read ends with model_error', async () => {
  const mean = new ModelError('overloaded', 'busy');
  for (const name of ['message', 'kind']) {
    Object.defineProperty(mean, name, {
      get() {
        throw new Error('not for you');
      },
    });
  }
  const failing = model(() => {
    throw mean;
  });
  const result = await runAgent(agent, 'go', { model: failing });
  expect(result).toMatchObject({ status: 'model_error', error: { kind: 'unknown', retryable: false } });
});
