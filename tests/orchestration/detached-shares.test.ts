import { setImmediate } from 'node:timers/promises';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Model,
  resumeRun,
  runAgent,
  startRun,
  steerRun,
} from 'coxswain';
import { callTools, say, toolCall } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';

const usage = { inputTokens: 100, outputTokens: 10 };
const allow = { mode: 'acceptAll' } as const;

/** A model that answers by how many results it has seen, and reports what it took, or not. */
function model(
  turn: (seen: number, signal: AbortSignal) => ReturnType<typeof say> | Promise<ReturnType<typeof say>>,
  reports = true,
): Model {
  return {
    provider: 'p',
    id: 'm',
    limits: { maxOutputTokens: 100 },
    async generate({ messages }, { signal }) {
      const answer = await turn(messages.filter(({ role }) => role === 'tool').length, signal);
      return { ...answer, ...(reports && { usage }) };
    },
  };
}

const look = defineTool({
  name: 'look',
  description: 'l',
  input: z.object({ n: z.number() }),
  access: 'read',
  execute: () => 'seen',
});

/** So many workers at once, each of which takes two turns and one call. */
function crew(count: number, more: Parameters<typeof delegate>[1] = { detached: true }) {
  const worker = defineAgent({
    name: 'worker',
    description: 'w',
    instructions: 'w',
    tools: [look],
    model: model((seen) => (seen === 0 ? callTools(toolCall('look', { n: 1 })) : say('done'))),
  });
  const calls = Array.from({ length: count }, (_, n) => toolCall('delegate_worker', { task: `part ${n}` }));
  return defineSupervisor({
    name: 'lead',
    instructions: 'l',
    workers: [delegate(worker, more)],
    concurrency: count,
    model: model((seen) => (seen === 0 ? callTools(...calls) : say('end'))),
  });
}

describe('the caps of a run hold beside detached workers that run at once', () => {
  test.each([
    ['steps', 6],
    ['toolCalls', 6],
    ['agents', 3],
  ] as const)('%s', async (limit, max) => {
    const lead = crew(4);
    for (const store of [undefined, journal()]) {
      const result = await runAgent(lead, 'Go', { permissions: allow, journal: store, limits: { [limit]: max } });
      const count = (node: typeof result.tree): number => node.children.reduce((sum, one) => sum + count(one), 1);
      const used = { steps: result.steps, toolCalls: result.toolCalls, agents: count(result.tree) }[limit];
      // A wrap-up turn is no step of the limit.
      expect(used, limit).toBeLessThanOrEqual(limit === 'steps' ? max + 1 : max);
    }
  });

  test('what was held and not used is given back', async () => {
    const lead = crew(2);
    const result = await runAgent(lead, 'Go', { permissions: allow, limits: { steps: 40, toolCalls: 30 } });
    expect([result.status, result.steps, result.toolCalls]).toEqual(['completed', 6, 4]);
  });

  test('a worker that waits for a person keeps its share, also in the next process', async () => {
    const save = defineTool({
      name: 'save',
      description: 's',
      input: z.object({}),
      access: 'write',
      execute: () => 'saved',
    });
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'w',
      tools: [save],
      model: model((seen) => (seen === 0 ? callTools(toolCall('save', {})) : say('done'))),
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { detached: true })],
      model: model((seen) =>
        seen === 0
          ? callTools(toolCall('delegate_worker', { task: 'a' }), toolCall('delegate_worker', { task: 'b' }))
          : say('end'),
      ),
    });
    const store = journal();
    const limits = { steps: 12 };
    const first = await runAgent(lead, 'Go', { journal: store, limits });
    expect([first.status, first.steps]).toEqual(['suspended', 3]);
    const second = await resumeRun(lead, first.runId, {
      journal: store,
      permissions: allow,
      approve: () => ({ decision: 'allow' }),
    }).result;
    expect([second.status, second.steps, second.toolCalls]).toEqual(['completed', 6, 4]);
  });
});

describe('a detached worker that is interrupted with its run', () => {
  test('has no outcome: a resume goes on with it', async () => {
    let asked = 0;
    const abort = new AbortController();
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'w',
      tools: [look],
      model: model(async (seen, signal) => {
        asked += 1;
        if (seen === 0) return callTools(toolCall('look', { n: 1 }));
        if (abort.signal.aborted) return say('done');
        void setImmediate().then(() => abort.abort());
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }),
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { detached: true })],
      model: model((seen) => (seen === 0 ? callTools(toolCall('delegate_worker', { task: 'a' })) : say('end'))),
    });
    const store = journal();
    const first = await runAgent(lead, 'Go', { journal: store, signal: abort.signal });
    expect(first.status).toBe('aborted');
    expect(first.usage.modelCallsWithUsage, 'what it had spent is told').toBe(2);
    const second = await resumeRun(lead, first.runId, { journal: store }).result;
    expect([second.status, second.text]).toEqual(['completed', 'end']);
    expect(second.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: 'done', isError: false });
    expect([second.steps, second.toolCalls, second.usage.modelCallsWithUsage]).toEqual([4, 2, 4]);
    expect(asked).toBe(3);
  });

  test('and one that was cancelled by itself stays cancelled', async () => {
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'w',
      model: model(
        (_, signal) => new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { detached: true })],
      model: model((seen) => (seen === 0 ? callTools(toolCall('delegate_worker', { task: 'a' })) : say('end'))),
    });
    const store = journal();
    const run = startRun(lead, 'Go', { journal: store });
    run.on('agent.start', ({ path }) => {
      if (path === 'lead/1.0/worker') void setImmediate().then(() => run.cancel(path));
    });
    const result = await run.result;
    expect([result.status, result.tree.children[0]?.status]).toEqual(['completed', 'cancelled']);
  });
});

describe('what a detached worker was charged by estimate', () => {
  /** A lead of many workers in a row, whose models report nothing; it aborts `abort` before the third. */
  const silent = (abort?: AbortController) => {
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'w'.repeat(400),
      model: model(() => say('x'.repeat(400)), false),
    });
    return defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { detached: true, limits: { tokens: 2_000 } })],
      model: model((seen, signal) => {
        if (seen === 2 && abort?.signal.aborted === false) {
          void setImmediate().then(() => abort.abort());
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        }
        return seen < 8 ? callTools(toolCall('delegate_worker', { task: `part ${seen}` })) : say('end');
      }),
    });
  };
  const refusals = (messages: Awaited<ReturnType<typeof runAgent>>['messages']) =>
    messages.flatMap(({ role, content }) =>
      role === 'tool' && String(content).includes('limit') ? [String(content)] : [],
    );
  const limits = { tokens: 3_600 };

  test('counts under the caps above it', async () => {
    const { messages } = await runAgent(silent(), 'Go', { limits });
    const [first] = refusals(messages);
    expect(first).toMatch(/The token limit of 3600 is reached: \d+ are spent \(estimated for \d of the calls/);
  });

  test('and counts in the next process too', async () => {
    const whole = await runAgent(silent(), 'Go', { limits });
    const abort = new AbortController();
    const lead = silent(abort);
    const store = journal();
    const first = await runAgent(lead, 'Go', { limits, journal: store, signal: abort.signal });
    expect(first.status).toBe('aborted');
    const second = await resumeRun(lead, first.runId, { journal: store }).result;
    expect(refusals(second.messages)).toEqual(refusals(whole.messages));
  });
});

test('a message for a detached worker is refused, with the run that takes it, and reaches it there', async () => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const seen: string[] = [];
  const worker = defineAgent({
    name: 'worker',
    description: 'w',
    instructions: 'w',
    tools: [look],
    model: {
      ...model(() => say('')),
      async generate({ messages }) {
        seen.push(JSON.stringify(messages.at(-1)));
        if (seen.length > 1) return say('done');
        asked.resolve();
        await held.promise;
        return callTools(toolCall('look', { n: 1 }));
      },
    },
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'l',
    workers: [delegate(worker, { detached: true })],
    model: model((n) => (n === 0 ? callTools(toolCall('delegate_worker', { task: 'a' })) : say('end'))),
  });
  const store = journal();
  const run = startRun(lead, 'Go', { journal: store });
  await asked.promise;
  const path = 'lead/1.0/worker';
  let refused = '';
  try {
    run.steer(path, 'Hurry');
  } catch (thrown) {
    refused = String(thrown);
  }
  const child = /runs detached, as run (\S+),/.exec(refused)?.[1] ?? '';
  // Its records are on disk once the turn of the event loop is over.
  await setImmediate();
  await expect(steerRun(run.id, path, 'Hurry', { journal: store })).rejects.toThrow(`runs detached, as run ${child},`);
  await steerRun(child, 'worker', 'Hurry', { journal: store });
  await setImmediate();
  held.resolve();
  expect((await run.result).status).toBe('completed');
  expect(seen.at(-1)).toContain('Hurry');
});
