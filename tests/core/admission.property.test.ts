import { defineAgent, defineSupervisor, defineTool, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pairing, text, turn } from '../support/turns.ts';

const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });

function counter() {
  const ran: number[] = [];
  const tool = defineTool({
    name: 'count',
    description: 'Counts',
    input: z.object({ turn: z.number(), call: z.number() }),
    access: 'read',
    // Ends in another order than it starts.
    async execute({ turn, call }) {
      ran[turn] = (ran[turn] ?? 0) + 1;
      for (let ticks = (call * 7) % 5; ticks > 0; ticks -= 1) await null;
      return `${turn}.${call}`;
    },
  });
  return { ran, tool };
}

const batch = (size: number, at: number) =>
  turn(...Array.from({ length: size }, (_, call) => ['count', { turn: at, call }] as const));

describe('admission of a turn’s calls', () => {
  it('runs all or none, and never more than the invocation may', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 0, max: 15 }), async (batches, max) => {
        const { ran, tool } = counter();
        const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool], limits: { toolCalls: max } });
        const result = await runAgent(agent, 'go', { model: scriptedModel([...batches.map(batch), text('done')]) });
        batches.forEach((size, at) => {
          expect([0, size]).toContain(ran[at] ?? 0);
        });
        const sum = ran.reduce((a, b) => a + b, 0);
        expect(sum).toBeLessThanOrEqual(max);
        expect(result.toolCalls).toBe(sum);
        expect(result.status === 'completed').toBe(batches.reduce((a, b) => a + b, 0) <= max);
        expect(pairing(result.messages)).toBe('ok');
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  it('takes the smaller of the invocation’s and the run’s limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        async (own, whole, size) => {
          const { ran, tool } = counter();
          const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool], limits: { toolCalls: own } });
          const model = scriptedModel([batch(size, 0), text('done')]);
          const result = await runAgent(agent, 'go', { model, limits: { toolCalls: whole } });
          const fits = size <= Math.min(own, whole);
          expect(ran[0] ?? 0).toBe(fits ? size : 0);
          expect(result.status).toBe(fits ? 'completed' : 'tool_limit');
        },
      ),
      { numRuns: 50, seed: 2 },
    );
  });

  it('never passes the run’s limit, whatever its parallel workers ask for', async () => {
    const workers = fc.array(sizes, { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(workers, fc.integer({ min: 0, max: 30 }), async (team, max) => {
        const { ran, tool } = counter();
        const agents = team.map((_, n) =>
          defineAgent({ name: `w${n}`, description: 'Works', instructions: 'x', tools: [tool] }),
        );
        const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: agents, concurrency: 8 });
        const script: Record<string, ReturnType<typeof turn>[]> = {
          lead: [turn(...team.map((_, n) => [`delegate_w${n}`, { task: 'go' }] as const)), text('done')],
        };
        team.forEach((batches, n) => {
          script[`w${n}`] = [...batches.map((size, at) => batch(size, n * 10 + at)), text(`w${n}`)];
        });
        const result = await runAgent(lead, 'go', { model: scriptedModel(script), limits: { toolCalls: max } });
        const sum = ran.reduce((a, b) => a + (b ?? 0), 0);
        team.forEach((batches, n) => {
          batches.forEach((size, at) => {
            expect([0, size]).toContain(ran[n * 10 + at] ?? 0);
          });
        });
        expect(sum).toBeLessThanOrEqual(max);
        expect(result.toolCalls).toBeLessThanOrEqual(max);
        const admitted = team.length <= max;
        expect(result.toolCalls).toBe(admitted ? sum + team.length : 0);
        expect(result.status).toBe(admitted ? 'completed' : 'tool_limit');
        expect(pairing(result.messages)).toBe('ok');
      }),
      { numRuns: 60, seed: 3 },
    );
  });
});
