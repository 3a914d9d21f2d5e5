import { defineAgent, runAgent } from 'coxswain';
import { say, scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { runSpent } from '../../src/cli/run-state.ts';
import { journal } from '../support/journals.ts';

const usage = { inputTokens: 1_000_000, outputTokens: 0 };

test('the cost is known by the records where each call has a price, and is left out where one has none', async () => {
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel(() => say('Hi', usage)) });
  const store = journal();
  const priced = { ...scriptedModel(() => say('Hi', usage)), price: { inputPerMTok: 2, outputPerMTok: 8 } };
  const known = await runAgent(agent, 'go', { journal: store, model: priced });
  const unknown = await runAgent(agent, 'go', { journal: store });
  expect(known.costUsd).toBe(2);
  const spentOf = async (id: string) => {
    const run = await store.read(id);
    return run && runSpent(run);
  };
  expect(await spentOf(known.runId)).toMatchObject({ costUsd: 2, usage: { inputTokens: 1_000_000, modelCalls: 1 } });
  expect(await spentOf(unknown.runId)).not.toHaveProperty('costUsd');
});
