import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineTool, fallback, ModelError, replayRun, resumeRun, startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, it, onTestFinished } from 'vitest';
import { runSpent } from '../../src/cli/run-state.ts';
import { History } from '../../src/journal/history.ts';
import type { Row } from '../../src/journal/row.ts';
import { Ledger } from '../../src/orchestration/budget/ledger.ts';
import { killedAfter } from '../support/journals.ts';

const usage = { inputTokens: 100, outputTokens: 100 };
const price = { inputPerMTok: 1_000, outputPerMTok: 1_000 };

function journal() {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-'));
  const store = sqlite(join(folder, 'runs.db'));
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return store;
}

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object' },
  access: 'read',
  execute: () => 'x',
});
const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look], wrapUp: false });
const calls = (name: string, n = 0) => ({ ...callTools(toolCall(name, { n })), usage });

it('what earlier epochs spent counts under a cap, in all and at each node', () => {
  const row = (key: string, value: object) => ({ kind: 'model', event: 'done', key, value }) as unknown as Row;
  const history = new History([
    row('lead/1/model', { content: [], usage, costUsd: 0.3 }),
    row('lead/1.0/worker/1/model', { content: [], usage, costUsd: 0.1 }),
    row('lead/1.0/worker/2/model', { content: [], usage }),
  ]);
  expect(history.spent(undefined)).toEqual({ tokens: 600, picoUsd: 4e11 });
  expect(history.spent('lead/1.0/worker')).toEqual({ tokens: 400, picoUsd: 1e11 });
  const ledger = new Ledger({ costUsd: 0.5 }, { limited: () => {} }, history);
  const ask = (output: number) => {
    const call = {
      key: 'lead/2/model',
      self: { limits: {}, definition: { type: 'model', wrapUp: false } },
      worst: () => ({ input: 50, output, fixed: true }),
      worstCost: (input: number, out: number) => (input + out) / 1_000,
    };
    return ledger.enter(call as never, { stop: undefined });
  };
  // 0.4 of 0.5 are spent: a call of 0.09 fits, one of 0.45 does not, and waits for the one in flight.
  expect(ask(40)).toBeUndefined();
  expect(ask(400)).toBeInstanceOf(Promise);
});

it('a replay gives the same costs, models and native turns, also of a fallback that met a closed gate', async () => {
  const store = journal();
  const busy = scriptedModel(
    [
      new ModelError('rate_limit', 'wait', { retryAfterMs: 20 }),
      new ModelError('auth', 'no'),
      new ModelError('auth', 'no'),
    ],
    { provider: 'first', id: 'a', price },
  );
  const answers = scriptedModel(
    [
      { ...calls('look'), native: { n: 1 } },
      { ...say('done', usage), native: { n: 2 } },
    ],
    {
      provider: 'second',
      id: 'b',
      price,
    },
  );
  const run = startRun(agent, 'go', { journal: store, model: fallback([busy, answers]), limits: { costUsd: 50 } });
  const live = await run.result;
  expect(live).toMatchObject({ status: 'completed', costUsd: 0.4, byModel: { 'second/b': { costUsd: 0.4 } } });
  const { traceId: _, ...played } = await replayRun(agent, { journal: store, runId: run.id }).result;
  const { traceId: __, ...shown } = live;
  expect(played).toEqual(shown);
  expect(JSON.stringify(played.messages)).toContain('"provider":"second"');
});

/** A model whose answers cost what they cost: the first attempts fail, having cost something. */
function unsteady(failures: number) {
  const failed = Array.from(
    { length: failures },
    (_, n) => new ModelError('server_error', 'broke off', { usage: { inputTokens: 100, outputTokens: 10 + n } }),
  );
  return scriptedModel([...failed, say('done', { inputTokens: 100, outputTokens: 50 })], {
    price,
    retry: { retries: 5, baseMs: 0, capMs: 0 },
  });
}

it('what failed attempts cost counts after a kill as it counted before, once', async () => {
  const store = journal();
  const run = startRun(agent, 'go', { journal: store, model: unsteady(2) });
  const whole = await run.result;
  expect(whole).toMatchObject({ status: 'completed', usage: { inputTokens: 300, outputTokens: 71, modelCalls: 1 } });
  const stored = await store.read(run.id);
  const rows = stored?.rows ?? [];
  expect(new History(rows).spent(undefined)).toEqual({ tokens: 371, picoUsd: 371e9 });
  const retries = rows.flatMap(({ event }, index) => (event === 'retry' ? [index] : []));
  expect(retries).toHaveLength(2);
  for (const [done, at] of retries.entries()) {
    // Killed after its failed attempts were recorded: what is left of them is done again, and that is all it costs.
    const killed = await killedAfter(rows, at + 1, { id: run.id, agent: 'solo' });
    const options = { journal: killed, model: unsteady(0), limits: { tokens: 50_000 } };
    const result = await resumeRun(agent, run.id, options).result;
    const outputTokens = done === 0 ? 60 : 71;
    const inputTokens = 100 * (done + 2);
    expect(result).toMatchObject({ status: 'completed', usage: { inputTokens, outputTokens, modelCalls: 1 } });
    expect(result.costUsd).toBeCloseTo((inputTokens + outputTokens) / 1_000);
    const after = await killed.read(run.id);
    expect(after && runSpent(after)).toEqual({ usage: result.usage, costUsd: result.costUsd });
    expect(new History(after?.rows ?? []).spent(undefined).tokens).toBe(inputTokens + outputTokens);
  }
});

it('a call that is stopped between its attempts has spent what they cost, also where a resume stops it again', async () => {
  const store = journal();
  const model = { ...unsteady(1), retry: { retries: 1, baseMs: 60_000, capMs: 60_000 } };
  const run = startRun(agent, 'go', { journal: store, model });
  run.on('model.retry', () => run.cancel());
  const cancelled = await run.result;
  const usage = { inputTokens: 100, outputTokens: 10, modelCalls: 1, modelCallsWithUsage: 1 };
  expect(cancelled).toMatchObject({ status: 'cancelled', usage, costUsd: 0.11 });
  expect(cancelled).toHaveProperty('error', { kind: 'cancelled', message: expect.any(String), retryable: false });
  const stored = await store.read(run.id);
  expect(stored && runSpent(stored)).toEqual({ usage, costUsd: 0.11 });
  const rows = stored?.rows ?? [];
  const end = rows.findIndex(({ kind, event }) => kind === 'agent' && event === 'done');
  const killed = await killedAfter(rows, end, { id: run.id, agent: 'solo' });
  const again = await resumeRun(agent, run.id, { journal: killed, model: unsteady(0) }).result;
  expect(again).toMatchObject({ status: 'cancelled', usage, costUsd: 0.11 });
});

it('a failed attempt of unknown price makes the cost unknown, not 0', async () => {
  const broke = new ModelError('network', 'cut', { retryable: false, usage: { inputTokens: 7, outputTokens: 1 } });
  const result = await startRun(agent, 'go', { model: scriptedModel([broke]) }).result;
  expect(result).toMatchObject({ status: 'model_error', usage: { inputTokens: 7, outputTokens: 1 } });
  expect(result).not.toHaveProperty('costUsd');
});
