import { defineAgent, defineSupervisor, defineTool, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { results, text, turn } from '../support/turns.ts';

it('the time of an agent bounds it as the root of a run as well', async () => {
  const agent = defineAgent({ name: 'solo', instructions: 'Answer.', limits: { timeMs: 20 } });
  const model = scriptedModel((_, { signal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  expect(await runAgent(agent, 'go', { model })).toMatchObject({ status: 'timeout' });
});

it('a sum of the tree that is not safe is a model error of the call that passes it, and the call still counts', async () => {
  const worker = (name: string) => defineAgent({ name, description: name, instructions: 'Work.' });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'Lead.',
    workers: [worker('a'), worker('b')],
    concurrency: 1,
  });
  const half = { inputTokens: 2 ** 52, outputTokens: 0 };
  const model = scriptedModel({
    lead: [turn(['delegate_a', { task: 'x' }], ['delegate_b', { task: 'y' }]), text('done')],
    a: [text('a', half)],
    b: [text('b', { ...half, inputTokens: 2 ** 52 })],
  });
  const result = await runAgent(lead, 'go', { model });
  expect(results(result.messages).map(({ isError }) => isError)).toEqual([false, true]);
  expect(result.usage).toMatchObject({ modelCalls: 4, modelCallsWithUsage: 3, inputTokens: 2 ** 52 + 20 });
});

describe('arguments of which a schema makes what JSON cannot hold', () => {
  const schemas = {
    'a BigInt': z.object({ n: z.string().transform((text) => BigInt(text)) }),
    'a cycle': z.object({
      n: z.string().transform(() => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        return cycle;
      }),
    }),
  };
  for (const [name, input] of Object.entries(schemas)) {
    for (const access of ['read', 'write'] as const) {
      it(`are an error result of a tool of access ${access}: ${name}`, async () => {
        const tool = defineTool({ name: 'any', description: 'Any', input, access, execute: () => 'ran' });
        const agent = defineAgent({ name: 'solo', instructions: 'Answer.', tools: [tool] });
        const model = scriptedModel([turn(['any', { n: '5' }]), text('done')]);
        const result = await runAgent(agent, 'go', { model, approve: () => ({ decision: 'allow' }) });
        expect(result.status).toBe('completed');
        expect(results(result.messages)).toEqual([
          { isError: true, text: expect.stringContaining('JSON cannot hold') },
        ]);
      });
    }
  }
});
