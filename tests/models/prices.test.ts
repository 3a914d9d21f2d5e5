import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, fallback, type ModelPrice, runAgent, startRun } from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { jsonlLog } from 'coxswain/log';
import { openai } from 'coxswain/openai';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { contextTokensOf, costOf, KNOWN_PROVIDERS, worstCostOf } from '../../src/models/prices.ts';
import { eventsOf } from '../support/turns.ts';

const price: ModelPrice = { inputPerMTok: 2, outputPerMTok: 10, cachedInputPerMTok: 0.2, cacheWritePerMTok: 2.5 };
const usage = { inputTokens: 1000, outputTokens: 100 };

describe('the cost of a call', () => {
  it('is that of the known prices, by provider and model', () => {
    expect(costOf({ provider: 'openai', id: 'gpt-4o' }, usage)).toBeCloseTo(0.0035, 12);
    expect(costOf({ provider: 'anthropic', id: 'claude-sonnet-4-5-20250929' }, usage)).toBeCloseTo(0.0045, 12);
    expect(costOf(openai('gpt-4o', { baseURL: 'https://api.openai.com/v1' }), usage)).toBeCloseTo(0.0035, 12);
  });

  it('counts cached and written input at their own price', () => {
    const sonnet = { provider: 'anthropic', id: 'claude-sonnet-4-5' };
    const all = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 600, cacheWriteTokens: 300 };
    expect(costOf(sonnet, all)).toBeCloseTo((100 * 3 + 600 * 0.3 + 300 * 3.75) / 1e6, 12);
    expect(costOf({ ...sonnet, price }, all)).toBeCloseTo((100 * 2 + 600 * 0.2 + 300 * 2.5) / 1e6, 12);
  });

  it('takes a price of your own before the known one, and cached input as other input where you say nothing', () => {
    const own = { inputPerMTok: 1, outputPerMTok: 1 };
    const cached = { ...usage, cachedInputTokens: 900 };
    expect(costOf({ provider: 'openai', id: 'gpt-4o', price: own }, cached)).toBeCloseTo(0.0011, 12);
  });

  it('is unknown, never 0, for other models, other providers and servers of your own', () => {
    expect(costOf({ provider: 'openai', id: 'nobody-knows-me' }, usage)).toBeUndefined();
    expect(costOf({ provider: 'acme', id: 'gpt-4o' }, usage)).toBeUndefined();
    const odd = { inputPerMTok: Number.NaN, outputPerMTok: 1 };
    expect(costOf({ provider: 'acme', id: 'x', price: odd }, usage)).toBeUndefined();
    expect(costOf(openai('gpt-4o', { baseURL: 'http://localhost:11434/v1' }), usage)).toBeUndefined();
    expect(costOf(openai('gpt-4o', { baseURL: 'https://gateway.example.com/v1' }), usage)).toBeUndefined();
    expect(costOf(anthropic('claude-sonnet-4-5', { baseURL: 'http://127.0.0.1:1' }), usage)).toBeUndefined();
  });

  it('takes counts that contradict themselves as they can be meant', () => {
    const odd = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 50, cacheWriteTokens: 50 };
    expect(costOf({ provider: 'x', id: 'y', price }, odd)).toBeCloseTo((10 * 0.2) / 1e6, 12);
    expect(costOf({ provider: 'openai', id: 'gpt-4o' }, odd)).toBeGreaterThan(0);
  });

  it('is at worst that of input of the dearest kind', () => {
    expect(worstCostOf({ provider: 'x', id: 'y', price }, 1000, 100)).toBeCloseTo((1000 * 2.5 + 100 * 10) / 1e6, 12);
    expect(worstCostOf({ provider: 'x', id: 'y' }, 1000, 100)).toBeUndefined();
  });

  it('knows the names of its data’s providers', async () => {
    const { findProvider } = await import('@pydantic/genai-prices');
    for (const id of KNOWN_PROVIDERS) expect(findProvider({ providerId: id })?.id, id).toBe(id);
  });
});

describe('the window of a model', () => {
  it('is its own, else the known one; of a fallback, the smallest', () => {
    const known = scriptedModel([], { provider: 'openai', id: 'gpt-4o' });
    expect(contextTokensOf(known)).toBe(128_000);
    expect(contextTokensOf(scriptedModel([], { provider: 'openai', id: 'gpt-4o', limits: { contextTokens: 9 } }))).toBe(
      9,
    );
    expect(contextTokensOf(scriptedModel([]))).toBeUndefined();
    const large = scriptedModel([], { limits: { contextTokens: 900_000 } });
    expect(contextTokensOf(fallback([large, known, scriptedModel([])]))).toBe(128_000);
  });
});

describe('the price option of an adapter', () => {
  it('is checked, field by field', () => {
    expect(openai('x', { price }).price).toEqual(price);
    expect(() => openai('x', { price: 3 as never })).toThrow(/price: expected an object/);
    expect(() => openai('x', { price: { inputPerMTok: 1 } as never })).toThrow(/price\.outputPerMTok: expected USD/);
    expect(() => anthropic('x', { price: { ...price, inputPerMTok: Number.NaN } })).toThrow(/price\.inputPerMTok/);
    expect(() => anthropic('x', { price: { ...price, perCall: 1 } as never })).toThrow(/price\.perCall: is not known/);
  });
});

describe('the cost of a run', () => {
  const priced = (turns: Parameters<typeof scriptedModel>[0]) => scriptedModel(turns, { id: 'priced', price });
  const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'x' });
  const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [worker] });
  const asks = () => [
    { ...callTools(toolCall('delegate_worker', { task: 'a' }), toolCall('delegate_worker', { task: 'b' })), usage },
    say('done', usage),
  ];
  const one = 0.003;

  it('stands in the result, by agent and model, in the tree, in events and records', async () => {
    const model = priced({ lead: asks(), worker: [say('1', usage), say('2', usage)] });
    const run = startRun(lead, 'go', { model });
    const events = await eventsOf(run);
    const result = await run.result;
    expect(result.costUsd).toBe(0.012);
    expect(result.byAgent).toMatchObject({ lead: { costUsd: 2 * one }, worker: { costUsd: 2 * one } });
    expect(result.byModel).toMatchObject({ 'scripted/priced': { costUsd: 0.012 } });
    expect(result.tree).toMatchObject({ costUsd: 0.012, children: [{ costUsd: one }, { costUsd: one }] });
    const costs = (type: string) => events.flatMap((e) => (e.type === type && 'costUsd' in e ? [e.costUsd] : []));
    expect(costs('model.end')).toEqual([one, one, one, one]);
    expect(costs('agent.end')).toEqual([one, one, 0.012]);
    expect(costs('run.end')).toEqual([0.012]);
  });

  it('is absent where the cost of any call is unknown, and there where it is known', async () => {
    const result = await runAgent(lead, 'go', {
      model: scriptedModel({ worker: [say('1', usage), say('2')] }, { price }),
      models: { lead: priced(asks()) },
    });
    expect(result).not.toHaveProperty('costUsd');
    expect(result.byAgent.lead?.costUsd).toBe(2 * one);
    expect(result.byAgent.worker).not.toHaveProperty('costUsd');
    expect(result.tree.children.map(({ costUsd }) => costUsd)).toEqual([one, undefined]);
  });

  it('is what the provider says, where it says so', async () => {
    const result = await runAgent(worker, 'go', {
      model: scriptedModel([{ ...say('x', usage), costUsd: 0.5 }], { price }),
    });
    expect(result.costUsd).toBe(0.5);
    const wrong = await runAgent(worker, 'go', { model: scriptedModel([{ ...say('x', usage), costUsd: -1 }]) });
    expect(wrong).toMatchObject({ status: 'model_error', error: { kind: 'malformed_response' } });
  });

  it('stands on the lines of the step log, with who answered', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'run.jsonl');
    const model = fallback([scriptedModel([], { provider: 'broken', id: 'b' }), priced([say('x', usage)])]);
    await runAgent(worker, 'go', { model, views: [jsonlLog(file, { content: 'full' })] });
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({
      event: 'end',
      costUsd: one,
      modelOut: { by: { provider: 'scripted', id: 'priced' } },
    });
    expect(lines.at(-1).modelOut).not.toHaveProperty('costUsd');
  });

  it('is that of the model of a fallback that answered', async () => {
    const dear = scriptedModel([say('x', usage)], {
      provider: 'dear',
      id: 'd',
      price: { inputPerMTok: 1000, outputPerMTok: 0 },
    });
    const broken = scriptedModel([], { provider: 'broken', id: 'b', price });
    const result = await runAgent(worker, 'go', { model: fallback([broken, dear]) });
    expect(result).toMatchObject({ costUsd: 1, byModel: { 'dear/d': { costUsd: 1 } } });
  });
});

it('gives for each known model what the data gives, however often it is asked', () => {
  const { calcPrice, findProvider } = createRequire(import.meta.url)('@pydantic/genai-prices');
  const usage = { inputTokens: 3_000, outputTokens: 70, cachedInputTokens: 1_000, cacheWriteTokens: 500 };
  const given = { input_tokens: 3_000, output_tokens: 70, cache_read_tokens: 1_000, cache_write_tokens: 500 };
  let models = 0;
  for (const provider of [...KNOWN_PROVIDERS]) {
    const data = findProvider({ providerId: provider });
    for (const id of [...data.models.map((model: { id: string }) => model.id), 'gpt-4o', 'no such model']) {
      const expected = calcPrice(given, id, { provider: data })?.total_price;
      for (let round = 0; round < 2; round += 1)
        expect([provider, id, costOf({ provider, id }, usage)]).toEqual([provider, id, expected]);
      models += 1;
    }
  }
  expect(models).toBeGreaterThan(500);
});
