import { StatementSync } from 'node:sqlite';
import { cancelRun, decideRun, defineAgent, defineTool, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';
import { text, turn } from '../support/turns.ts';

/** A tool that says when it is under way, and ends with its signal. */
function longTool() {
  const begun = Promise.withResolvers<void>();
  const hears = Promise.withResolvers<number>();
  const tool = defineTool({
    name: 'dig',
    description: 'Takes long',
    input: z.object({}),
    access: 'read',
    execute: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          hears.resolve(performance.now());
          reject(signal.reason);
        });
        begun.resolve();
      }),
  });
  return { tool, begun: begun.promise, hears: hears.promise };
}

describe('a run at work', () => {
  test('in a long call hears that another process cancels it within 100 ms', async () => {
    const store = journal();
    const { tool, begun, hears } = longTool();
    const lead = defineAgent({ name: 'lead', instructions: 'Dig.', tools: [tool] });
    const run = startRun(lead, 'Go', { model: scriptedModel([turn(['dig'])]), journal: store });
    await begun;
    const since = performance.now();
    await cancelRun(run.id, { journal: journal(store.file), reason: 'enough' });
    // The goal, and what a busy machine adds.
    expect((await hears) - since).toBeLessThan(100 + 200);
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });

  test('hears what is told through its own journal, in the same process', async () => {
    const store = journal();
    const { tool, begun } = longTool();
    const lead = defineAgent({ name: 'lead', instructions: 'Dig.', tools: [tool] });
    const run = startRun(lead, 'Go', { model: scriptedModel([turn(['dig'])]), journal: store });
    await begun;
    await cancelRun(run.id, { journal: store, reason: 'enough' });
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    const asks = startRun(
      defineAgent({
        name: 'boss',
        description: 'b',
        input: z.object({}),
        run: (_input, ctx) => ctx.wait('go', {}, z.object({ ok: z.boolean() })),
      }),
      {},
      { journal: store, onIdle: 'wait' },
    );
    const id = await new Promise<string>((resolve) =>
      asks.on('approval.request', (event) => resolve(event.request.id)),
    );
    await decideRun(asks.id, id, { decision: 'answer', value: { ok: true } }, { journal: store });
    expect(await asks.result).toMatchObject({ status: 'completed', output: { ok: true } });
  });

  test('in a long answer of a model, too, and only what was named is stopped', async () => {
    const store = journal();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const slow = defineAgent({ name: 'slow', description: 's', instructions: 'Think.' });
    const boss = defineAgent({
      name: 'boss',
      description: 'b',
      input: z.object({}),
      run: (_input, ctx) => ctx.call(slow, { task: 'Think' }, { id: 'one' }).catch((thrown: Error) => thrown.message),
    });
    const model = scriptedModel((_request, { signal }) => {
      resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    });
    const run = startRun(boss, {}, { model, journal: store });
    await asked;
    await cancelRun(run.id, { journal: journal(store.file), path: 'boss/one', reason: 'not needed' });
    expect(await run.result).toMatchObject({ status: 'completed', text: expect.stringContaining('not needed') });
  });

  test('looks for nothing while nothing of its own is under way', async () => {
    const store = journal();
    let looks = 0;
    const get = vi.spyOn(StatementSync.prototype, 'get');
    const boss = defineAgent({
      name: 'boss',
      description: 'b',
      input: z.object({}),
      async run(_input, ctx) {
        const awake = get.mock.calls.length;
        await ctx.sleep(120);
        const slept = get.mock.calls.length - awake;
        // Its own waiting, which no journal knows of.
        await new Promise((later) => setTimeout(later, 60));
        const before = get.mock.calls.length;
        await new Promise((later) => setTimeout(later, 300));
        looks = get.mock.calls.length - before;
        return slept;
      },
    });
    const { status, output } = (await runAgent(boss, {}, { model: scriptedModel([text('x')]), journal: store })) as {
      status: string;
      output: number;
    };
    get.mockRestore();
    expect(status).toBe('completed');
    expect(output, 'asleep it looks').toBeGreaterThan(1);
    expect(looks).toBe(0);
  });
});
