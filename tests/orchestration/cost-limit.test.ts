import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  fallback,
  type ModelTurn,
  runAgent,
  startRun,
} from 'coxswain';
import { openai } from 'coxswain/openai';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../support/turns.ts';

/** A dollar per thousand tokens, so that amounts can be read. */
const price = { inputPerMTok: 1_000, outputPerMTok: 1_000 };
const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens });
const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object' },
  access: 'read',
  execute: () => 'x',
});
const calls = (n: number): ModelTurn => ({ ...callTools(toolCall('look', { n })), usage: usage(400, 100) });

describe('a limit in USD', () => {
  it('ends a run with cost_limit before it is passed, and says what was spent', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look], wrapUp: false });
    const model = scriptedModel(() => calls(model.requests.length), { price });
    const run = startRun(agent, 'go', { model, limits: { costUsd: 2 } });
    const events = await eventsOf(run);
    const result = await run.result;
    expect(result).toMatchObject({ status: 'cost_limit', error: { kind: 'cost_limit' } });
    expect(result.costUsd).toBe(0.5 * model.requests.length);
    expect(result.costUsd).toBeLessThanOrEqual(2);
    expect(model.requests.length).toBeGreaterThan(1);
    expect(result.status === 'cost_limit' && result.error.message).toContain(
      `The cost limit of 2 USD is reached: ${result.costUsd} USD are spent and the next call does not fit.`,
    );
    expect(events.find(({ type }) => type === 'limit')).toMatchObject({
      limit: 'costUsd',
      used: result.costUsd,
      max: 2,
    });
  });

  it('asks for no longer answer than what is left pays for', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', wrapUp: false });
    const model = scriptedModel([say('x', usage(20, 10))], { price });
    await runAgent(agent, 'go', { model, limits: { costUsd: 0.1 } });
    const asked = model.requests[0]?.settings.maxOutputTokens ?? 0;
    expect(asked).toBeGreaterThan(50);
    expect(asked).toBeLessThan(100);
  });

  it('holds for workers that run at once', async () => {
    const model = scriptedModel(() => say('x', usage(30, 170)), { price });
    const settings = { maxOutputTokens: 170 };
    const workers = Array.from({ length: 12 }, (_, n) =>
      defineAgent({ name: `w${n}`, description: 'w', instructions: 'x', model, settings, wrapUp: false }),
    );
    const ask = callTools(...workers.map(({ name }) => toolCall(`delegate_${name}`, { task: 'x' })));
    const lead = scriptedModel([{ ...ask, usage: usage(0, 0) }, say('done', usage(0, 0))], {
      price: { inputPerMTok: 0, outputPerMTok: 0 },
    });
    const team = defineSupervisor({ name: 'lead', instructions: 'x', model: lead, workers, concurrency: 12 });
    const result = await runAgent(team, 'go', { limits: { costUsd: 1 } });
    const statuses = result.tree.children.map(({ status }) => status);
    expect(result.costUsd).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status === 'completed').length).toBeGreaterThanOrEqual(3);
    expect(statuses.filter((status) => status === 'cost_limit').length).toBeGreaterThanOrEqual(7);
  });

  it('of an agent bounds each of its invocations', async () => {
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'x',
      tools: [look],
      wrapUp: false,
      limits: { costUsd: 0.7 },
      model: scriptedModel(() => calls(Math.random()), { price }),
    });
    const lead = scriptedModel([callTools(toolCall('delegate_worker', { task: 'x' })), 'done']);
    const team = defineSupervisor({ name: 'lead', instructions: 'x', model: lead, workers: [worker] });
    const result = await runAgent(team, 'go');
    expect(result.status).toBe('completed');
    expect(result.tree.children[0]).toMatchObject({ status: 'cost_limit', costUsd: 0.5 });
  });

  it('counts the estimate where a provider reports nothing, and says so', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look], wrapUp: false });
    const model = scriptedModel(() => callTools(toolCall('look', { n: model.requests.length })), { price });
    const guessed = /estimated for \d+ of the calls, which reported nothing/;
    const result = await runAgent(agent, 'go', { model, limits: { costUsd: 0.5 } });
    expect(result).toMatchObject({ status: 'cost_limit', error: { message: expect.stringMatching(guessed) } });
    // What was said is estimated, not the whole reservation charged: more than one call fits.
    expect(model.requests.length).toBeGreaterThan(1);
    const tokens = await runAgent(agent, 'go', { model, limits: { tokens: 1_000 } });
    expect(tokens).toMatchObject({ status: 'token_limit', error: { message: expect.stringMatching(guessed) } });
  });

  it('counts the estimate for an answer that was cut off', async () => {
    const { usage: _, ...half } = calls(1);
    const cut = scriptedModel([{ ...half, stop: 'length' }, say('x', usage(10, 10))], { price });
    const flow = defineAgent({
      name: 'flow',
      description: 'f',
      async run(_, ctx) {
        const solo = defineAgent({ name: 'solo', instructions: 'x', model: cut, wrapUp: false });
        await ctx.call(solo, { task: '1' }).catch(() => {});
        return ctx.call(solo, { task: '2' });
      },
    });
    expect(await runAgent(flow, { task: 'x' }, { limits: { costUsd: 1 } })).toMatchObject({ status: 'cost_limit' });
  });

  it('keeps enough for the wrap-up turn', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look], limits: { steps: 1 } });
    const model = scriptedModel([calls(1), say('what I have', usage(100, 20))], { price });
    const result = await runAgent(agent, 'go', { model, limits: { costUsd: 3 } });
    expect(result).toMatchObject({ status: 'step_limit', text: 'what I have' });
  });

  it('reckons with the dearest model of a fallback', async () => {
    const cheap = scriptedModel(['x'], { price: { inputPerMTok: 0, outputPerMTok: 0 } });
    const dear = scriptedModel(['x'], { price: { inputPerMTok: 1e6, outputPerMTok: 1e6 } });
    const agent = defineAgent({ name: 'solo', instructions: 'x', wrapUp: false });
    expect(await runAgent(agent, 'go', { model: cheap, limits: { costUsd: 0.5 } })).toMatchObject({
      status: 'completed',
    });
    const both = { model: fallback([cheap, dear]), limits: { costUsd: 0.5 } };
    expect(await runAgent(agent, 'go', both)).toMatchObject({ status: 'cost_limit' });
  });

  it('refuses a model without a known price before anything starts', () => {
    const unknown = openai('my-model', { baseURL: 'http://localhost:1/v1' });
    const agent = defineAgent({ name: 'solo', description: 's', instructions: 'x', model: unknown });
    const named = /agent solo\.model: limits\.costUsd holds and the price of openai\/my-model is not known.*price/;
    expect(() => startRun(agent, 'go', { limits: { costUsd: 1 } })).toThrow(named);
    const capped = defineAgent({ name: 'solo', instructions: 'x', model: unknown, limits: { costUsd: 1 } });
    expect(() => startRun(capped, 'go')).toThrow(named);
    const team = defineSupervisor({
      name: 'lead',
      instructions: 'x',
      model: scriptedModel([], { price }),
      workers: [agent],
    });
    expect(() => startRun(team, 'go', { limits: { costUsd: 1 } })).toThrow(named);
    expect(() =>
      startRun(agent, 'go', { model: fallback([scriptedModel([], { price }), unknown]), limits: { costUsd: 1 } }),
    ).toThrow(named);
    expect(() => startRun(agent, 'go', { limits: { costUsd: 0 } })).toThrow(
      /limits\.costUsd: expected a finite number > 0/,
    );
  });

  it('is an error result where such a model appears later', async () => {
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'x',
      model: scriptedModel(['never']),
    });
    const lead = defineAgent({
      name: 'lead',
      instructions: 'x',
      model: scriptedModel([{ ...callTools(toolCall('delegate_worker', { task: 'x' })), usage: usage(1, 1) }, 'done'], {
        price,
      }),
      tools: () => [delegate(worker)],
    });
    const result = await runAgent(lead, 'go', { limits: { costUsd: 100 } });
    expect(result.status).toBe('completed');
    expect(result.messages.find(({ role }) => role === 'tool')).toMatchObject({
      isError: true,
      content: expect.stringMatching(/cost_limit: A limit in USD holds here and the price of the model is not known/),
    });
  });
});
