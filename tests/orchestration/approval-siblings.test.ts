import { defineAgent, defineSupervisor, defineTool, type LeafTool, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { gate } from '../support/turns.ts';

const waiting = (name: string, until: () => Promise<unknown>, access: 'read' | 'write' = 'read'): LeafTool =>
  defineTool({
    name,
    description: name,
    access,
    input: z.object({}),
    result: { integrity: 'trusted' },
    execute: async () => {
      await until();
      return `${name} done`;
    },
  }) as LeafTool;

/** Milliseconds until a request is seen while a sibling is under way for 600 ms, and whether that was over by then. */
async function seen(beside: 'a call' | 'a worker'): Promise<number> {
  const slow = waiting('slow', () => new Promise((resolve) => setTimeout(resolve, 600)));
  const save = waiting('save', async () => {}, 'write');
  const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [slow] });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker], tools: [slow, save] });
  const other = beside === 'a call' ? toolCall('slow', {}) : toolCall('delegate_worker', { task: 'go' });
  const model = scriptedModel({
    lead: [callTools(other, toolCall('save', {})), 'done'],
    worker: [callTools(toolCall('slow', {})), 'done'],
  });
  const began = performance.now();
  let ended = false;
  const run = startRun(lead, 'go', { model, onIdle: 'wait' });
  run.on('tool.end', ({ name }) => {
    if (name === 'slow') ended = true;
  });
  const ms = await new Promise<number>((resolve) => {
    run.on('approval.request', ({ request }) => {
      resolve(performance.now() - began);
      void run.decide(request.id, { decision: 'allow' });
    });
  });
  expect(ended).toBe(false);
  expect((await run.result).status).toBe('completed');
  return ms;
}

test.each(['a call', 'a worker'] as const)(
  'a request is seen within 50 ms while %s beside it takes 600 ms',
  async (beside) => {
    const times = [await seen(beside), await seen(beside)];
    expect(Math.min(...times)).toBeLessThan(50);
  },
);

test('calls that are not parallel go on while one of them waits for a person, and while one’s result does', async () => {
  const ran: string[] = [];
  const note = (name: string) => waiting(name, async () => ran.push(name), 'write');
  const page = defineTool({ name: 'page', description: 'x', access: 'read', input: z.object({}), execute: () => 'x' });
  const agent = defineAgent({ name: 'lead', instructions: 'x', tools: [note('one'), note('two'), page] });
  const calls = [toolCall('page', {}), toolCall('one', {}), toolCall('two', {})];
  const open = gate<void>();
  const run = startRun(agent, 'go', {
    model: scriptedModel([callTools(...calls), 'done']),
    permissions: { endorse: ['page'], rules: ['allow two', 'ask one'] },
    approve: async () => {
      await open.promise;
      return { decision: 'allow' };
    },
  });
  await new Promise<void>((resolve) => run.on('tool.end', ({ name }) => name === 'two' && resolve()));
  expect(ran).toEqual(['two']);
  expect(
    run
      .pending()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['lead/1.0/@endorse', 'lead/1.1/@approval']);
  open.open();
  expect((await run.result).status).toBe('completed');
  expect(ran).toEqual(['two', 'one']);
});
