import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineTool, fallback, ModelError, replayRun, startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, it, onTestFinished } from 'vitest';
import { History } from '../../src/journal/history.ts';
import type { Row } from '../../src/journal/row.ts';
import { Ledger } from '../../src/orchestration/ledger.ts';

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
    row('lead/1/model', { usage, costUsd: 0.3 }),
    row('lead/1.0/worker/1/model', { usage, costUsd: 0.1 }),
    row('lead/1.0/worker/2/model', { usage }),
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
