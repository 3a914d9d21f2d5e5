import { defineAgent, fallback, ModelError, runAgent, startRun, withRetry } from 'coxswain';
import { say, scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import type { ModelDelta } from '../../src/core/values/model.ts';
import { eventsOf } from '../support/turns.ts';
import { request, silent } from './play.ts';

const agent = defineAgent({ name: 'solo', instructions: 'Answer.' });
const usage = { inputTokens: 10, outputTokens: 5 };
const fast = { retries: 2, baseMs: 1, capMs: 1 };

const failing = (...errors: readonly Error[]) => scriptedModel(errors, { provider: 'alpha', id: 'a', retry: fast });
const answering = (text = 'from b') =>
  scriptedModel([say(text, usage), say('again', usage)], { provider: 'beta', id: 'b' });

describe('a fallback in a run', () => {
  it.each(['auth', 'permission', 'not_found', 'quota', 'malformed_response', 'empty_response', 'unknown'] as const)(
    'goes on at once after %s',
    async (kind) => {
      const a = failing(new ModelError(kind, 'no'));
      const b = answering();
      const result = await runAgent(agent, 'go', { model: fallback([a, b]) });
      expect(result).toMatchObject({ status: 'completed', text: 'from b' });
      expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
    },
  );

  it.each(['rate_limit', 'overloaded', 'server_error', 'network', 'timeout'] as const)(
    'goes on after %s once the retries of that model are used up',
    async (kind) => {
      const a = failing(...[1, 2, 3].map(() => new ModelError(kind, 'later')));
      const b = answering();
      const run = startRun(agent, 'go', { model: fallback([a, b]) });
      const retries = (await eventsOf(run)).filter((event) => event.type === 'model.retry');
      expect(await run.result).toMatchObject({ status: 'completed', text: 'from b' });
      expect([a.requests.length, b.requests.length]).toEqual([3, 1]);
      expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(retries.at(-1)).toMatchObject({ delayMs: 0, error: { kind } });
    },
  );

  it.each([
    'invalid_request',
    'request_too_large',
    'context_length',
    'output_truncated',
    'content_filter',
    'refusal',
  ] as const)('does not go on after %s', async (kind) => {
    const b = answering();
    const result = await runAgent(agent, 'go', { model: fallback([failing(new ModelError(kind, 'no')), b]) });
    expect(result).toMatchObject({ status: 'model_error', error: { kind } });
    expect(b.requests).toHaveLength(0);
  });

  it('goes on after a Retry-After that nobody waits for', async () => {
    const a = failing(new ModelError('rate_limit', 'later', { retryAfterMs: 3_600_000 }));
    const result = await runAgent(agent, 'go', { model: fallback([a, answering()]) });
    expect(result.text).toBe('from b');
  });

  it('gives each model retries of its own', async () => {
    const a = failing(new ModelError('network', 'x'), new ModelError('network', 'x'), new ModelError('network', 'x'));
    const b = scriptedModel([new ModelError('network', 'y'), new ModelError('network', 'y'), 'third time'], {
      retry: fast,
    });
    expect(await runAgent(agent, 'go', { model: fallback([a, b]) })).toMatchObject({ text: 'third time' });
    const once = withRetry(
      fallback([failing(new ModelError('network', 'x'), new ModelError('network', 'x')), answering()]),
      {
        retries: 1,
        baseMs: 1,
      },
    );
    expect(await runAgent(agent, 'go', { model: once })).toMatchObject({ text: 'from b' });
  });

  it('ends with the last error where none answers, and says nothing of others', async () => {
    const model = fallback([failing(new ModelError('auth', 'first')), failing(new ModelError('quota', 'second'))]);
    expect(await runAgent(agent, 'go', { model })).toMatchObject({
      status: 'model_error',
      error: { kind: 'quota', message: 'second' },
    });
  });

  it('shows who answered: in byModel, in the started records and in the native turn', async () => {
    const native = { id: 'resp_1' };
    const b = scriptedModel([{ ...say('yes', usage), native }], { provider: 'beta', id: 'b' });
    const records: unknown[] = [];
    const result = await runAgent(agent, 'go', {
      model: fallback([failing(new ModelError('auth', 'no')), b]),
      views: [
        (record) =>
          void (
            record.kind === 'model' && records.push(record.event === 'started' ? record.request.model : record.event)
          ),
      ],
    });
    expect(result.messages.at(-1)).toMatchObject({ role: 'assistant', native: { provider: 'beta', turn: native } });
    expect(result.byModel).toEqual({ 'beta/b': { usage: { ...usage, modelCalls: 1, modelCallsWithUsage: 1 } } });
    expect(records).toEqual(['alpha/a', 'retry', 'beta/b', 'done']);
  });

  it('begins the next call with the first model again', async () => {
    const a = scriptedModel([new ModelError('auth', 'no'), say('a is back', usage)], { provider: 'alpha', id: 'a' });
    const flow = defineAgent({
      name: 'flow',
      description: 'Asks twice',
      run: async (_, ctx) => `${await ctx.call(agent, { task: '1' })}, ${await ctx.call(agent, { task: '2' })}`,
    });
    const result = await runAgent(flow, { task: 'x' }, { model: fallback([a, answering()]) });
    expect(result.text).toBe('from b, a is back');
    expect(Object.keys(result.byModel).sort()).toEqual(['alpha/a', 'beta/b']);
    expect(result.byAgent.solo?.usage.modelCalls).toBe(2);
  });

  it('tells the deltas of each model under an attempt of its own, none of one that was given up', async () => {
    let late: ((delta: ModelDelta) => void) | undefined;
    const a = {
      provider: 'alpha',
      id: 'a',
      retry: { retries: 0 },
      async generate(_: unknown, { onDelta }: { onDelta?: (delta: ModelDelta) => void }): Promise<never> {
        onDelta?.({ type: 'text', text: 'half of ' });
        late = onDelta;
        throw new ModelError('network', 'cut');
      },
    };
    const b = scriptedModel(() => {
      late?.({ type: 'text', text: 'too late' });
      return 'whole';
    });
    const run = startRun(agent, 'go', { model: fallback([a, b]) });
    const texts = (async () => {
      const pieces: string[] = [];
      for await (const piece of run.text()) pieces.push(piece);
      return pieces.join('');
    })();
    const deltas = (await eventsOf(run)).filter((event) => event.type === 'model.delta');
    expect(deltas.map(({ attempt, delta }) => [attempt, 'text' in delta && delta.text])).toEqual([
      [1, 'half of '],
      [2, 'whole'],
    ]);
    expect(await texts).toBe('half of ');
  });

  it('stops trying when the run is stopped', async () => {
    const controller = new AbortController();
    const a = scriptedModel(() => {
      controller.abort();
      throw new ModelError('auth', 'no');
    });
    const b = answering();
    const result = await runAgent(agent, 'go', { model: fallback([a, b]), signal: controller.signal });
    expect(result.status).toBe('aborted');
    expect(b.requests).toHaveLength(0);
  });
});

describe('a fallback outside of a run', () => {
  it('tries each model once and passes on the deltas of the one that answered', async () => {
    const a = {
      provider: 'alpha',
      id: 'a',
      async generate(_: unknown, { onDelta }: { onDelta?: (delta: ModelDelta) => void }): Promise<never> {
        onDelta?.({ type: 'text', text: 'half' });
        throw new ModelError('server_error', 'broken');
      },
    };
    const deltas: ModelDelta[] = [];
    const turn = await fallback([a, answering()]).generate(request(), {
      ...silent,
      onDelta: (delta) => deltas.push(delta),
    });
    expect(turn).toMatchObject({ by: { provider: 'beta', id: 'b' } });
    expect(deltas).toEqual([{ type: 'text', text: 'from b' }]);
  });

  it('rejects with what is wrong with the request, and with the last error', async () => {
    const wrong = fallback([failing(new ModelError('invalid_request', 'wrong')), answering()]);
    await expect(wrong.generate(request(), silent)).rejects.toMatchObject({ kind: 'invalid_request' });
    const none = fallback([failing(new ModelError('auth', '1')), failing(new ModelError('quota', '2'))]);
    await expect(none.generate(request(), silent)).rejects.toMatchObject({ kind: 'quota' });
  });
});

describe('the definition of a fallback', () => {
  it('stands under the first name, with the smallest limits, and takes others apart', () => {
    const limited = (id: string, contextTokens: number) => scriptedModel([], { id, limits: { contextTokens } });
    const model = fallback([fallback([limited('a', 300), limited('b', 100)]), limited('c', 200)]);
    expect(model).toMatchObject({ provider: 'scripted', id: 'a', limits: { contextTokens: 100 } });
    expect(model.candidates?.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('refuses what is no list of models', () => {
    expect(() => fallback([])).toThrow(/models: expected a list of models/);
    expect(() => fallback(['gpt' as never])).toThrow(/models\[0\]: is no model/);
  });
});
