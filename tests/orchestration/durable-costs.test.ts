import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineTool, fallback, ModelError, replayRun, resumeRun, startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, it, onTestFinished } from 'vitest';

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

/** An agent whose first tool call stops its run from outside, like a deploy. */
function interrupted(stop: AbortController) {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: { type: 'object' },
    access: 'read',
    execute: () => 'x',
  });
  const halt = defineTool({
    name: 'halt',
    description: 'Halts',
    input: { type: 'object' },
    access: 'read',
    execute: () => {
      stop.abort();
      return 'stopped';
    },
  });
  return defineAgent({ name: 'solo', instructions: 'x', tools: [look, halt], wrapUp: false });
}
const calls = (name: string, n = 0) => ({ ...callTools(toolCall(name, { n })), usage });

it('what an earlier epoch spent counts under a limit in USD and in the result', async () => {
  const store = journal();
  const stop = new AbortController();
  const agent = interrupted(stop);
  const first = startRun(agent, 'go', {
    journal: store,
    signal: stop.signal,
    model: scriptedModel([calls('halt')], { price }),
    limits: { costUsd: 0.8 },
  });
  expect(await first.result).toMatchObject({ status: 'aborted', costUsd: 0.2 });
  const model = scriptedModel(() => calls('look', model.requests.length), { price });
  const result = await resumeRun(agent, first.id, { journal: store, model }).result;
  expect(result.status).toBe('cost_limit');
  expect(result.costUsd).toBe(0.2 + 0.2 * model.requests.length);
  expect(result.costUsd).toBeLessThanOrEqual(0.8);
});

it('a replay gives the same costs, models and native turns, also of a fallback that met a closed gate', async () => {
  const store = journal();
  const agent = interrupted(new AbortController());
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
