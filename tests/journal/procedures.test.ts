import { setTimeout as pause } from 'node:timers/promises';
import {
  type Agent,
  defineAgent,
  defineTool,
  type ProcedureContext,
  type RecordStore,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { results, text, turn } from '../support/turns.ts';

function flow(run: (ctx: ProcedureContext) => Promise<unknown>) {
  return defineAgent({
    name: 'flow',
    description: 'code',
    run: (_input, ctx) => run(ctx as ProcedureContext),
  }) as unknown as Agent<{ task: string }, unknown, unknown>;
}

const go = { task: 'Go' };

/** Resumes from every prefix of the records of a run. */
async function fromEachPrefix(
  agent: Agent<{ task: string }, unknown, unknown>,
  check: (text: string, at: string) => void,
) {
  const store = journal();
  const first = await runAgent(agent, go, { journal: store, runId: 'r1' });
  expect(first.status).toBe('completed');
  const rows = (await store.read('r1'))?.rows ?? [];
  for (const count of someNumbers(2, rows.length, 10)) {
    const half = await killedAfter(rows, count, { id: 'r1', agent: 'flow' });
    const { text, status } = await resumeRun(agent, 'r1', { journal: half }).result;
    expect(status, `after ${rows[count - 1]?.key}`).toBe('completed');
    check(text, `after ${count} ${rows[count - 1]?.key}`);
    half.close();
  }
  return { first, rows };
}

describe('a procedure is as durable as a loop', () => {
  test('branches that interleave otherwise find their records', async () => {
    let lives = 0;
    const ran: string[] = [];
    const slow = defineTool({
      name: 'slow',
      description: 's',
      input: z.object({ n: z.number() }),
      access: 'read',
      async execute({ n }) {
        // Each life has another order of ends.
        await pause((n * 7 + lives * 3) % 5);
        ran.push(`${lives} ${n}`);
        return n * 10;
      },
    });
    const agent = flow(async (ctx) => {
      lives += 1;
      const branch = async (n: number) => {
        const one = await ctx.tool(slow, { n });
        const twice = await ctx.tool(slow, { n: 100 });
        return one + twice;
      };
      return Promise.all([1, 2, 3].map(branch));
    });
    await fromEachPrefix(agent, (text) => expect(text).toBe('[1010,1020,1030]'));
  });

  test('once, now and random give what they gave', async () => {
    const agent = flow(async (ctx) => {
      const token = await ctx.once('token', async () => Math.random());
      const nothing = await ctx.once('nothing', () => undefined);
      return [token, String(nothing), await ctx.now(), await ctx.random(), await ctx.now(), await ctx.random()];
    });
    const store = journal();
    const first = await runAgent(agent, go, { journal: store, runId: 'r1' });
    const rows = (await store.read('r1'))?.rows ?? [];
    const last = rows.findLastIndex(({ kind }) => kind === 'once');
    const half = await killedAfter(rows, last + 1, { id: 'r1', agent: 'flow' });
    expect((await resumeRun(agent, 'r1', { journal: half }).result).text).toBe(first.text);
    const [token, , , one, , two] = JSON.parse(first.text);
    expect(new Set([token, one, two]).size).toBe(3);
  });

  test('a sleep has an absolute deadline: what passed while nobody ran it is gone', async () => {
    const agent = flow(async (ctx) => {
      await ctx.sleep(150);
      return 'awake';
    });
    const store = journal();
    const began = performance.now();
    await runAgent(agent, go, { journal: store, runId: 'r1' });
    expect(performance.now() - began).toBeGreaterThan(145);
    const rows = (await store.read('r1'))?.rows ?? [];
    const cut = rows.findIndex(({ kind }) => kind === 'sleep');
    const half = await killedAfter(rows, cut, { id: 'r1', agent: 'flow' });
    const since = performance.now();
    expect((await resumeRun(agent, 'r1', { journal: half }).result).text).toBe('awake');
    expect(performance.now() - since).toBeLessThan(100);
  });

  test('a wait is answered by another process, and its schema judges the answer', async () => {
    const agent = flow(async (ctx) => {
      const { ok, note } = await ctx.wait(
        'editor',
        { question: 'Print it?' },
        z.object({ ok: z.boolean(), note: z.string().default('none') }),
      );
      return `${ok} ${note}`;
    });
    const store = journal();
    const first = await runAgent(agent, go, { journal: store, runId: 'r1' });
    expect(first).toMatchObject({
      status: 'suspended',
      pending: [{ id: 'flow/editor', reason: 'wait', request: { question: 'Print it?' } }],
    });
    const run = resumeRun(agent, 'r1', { journal: store });
    await expect(run.decide('flow/editor', { decision: 'answer', value: { ok: 'yes' } })).rejects.toThrow(/\$\.ok/);
    expect((await run.result).status).toBe('suspended');
    await store.signal('r1', {
      kind: 'decision',
      id: 'flow/editor',
      decision: { decision: 'answer', value: { ok: true } },
    });
    const second = await resumeRun(agent, 'r1', { journal: store }).result;
    expect(second).toMatchObject({ status: 'completed', text: 'true none' });
    const rows = (await store.read('r1'))?.rows ?? [];
    const half = await killedAfter(rows, rows.findIndex(({ kind, event }) => kind === 'wait' && event === 'done') + 1, {
      id: 'r1',
      agent: 'flow',
    });
    expect((await resumeRun(agent, 'r1', { journal: half }).result).text).toBe('true none');
  });

  test('an error of a child and of a tool is caught again as it was', async () => {
    let tries = 0;
    const bad = defineTool({
      name: 'bad',
      description: 'b',
      input: z.object({}),
      access: 'read',
      execute() {
        tries += 1;
        throw new Error(`try ${tries}`);
      },
    });
    const failing = defineAgent({ name: 'child', description: 'c', run: (_input, ctx) => ctx.tool(bad, {}) });
    const agent = flow(async (ctx) => {
      const one = await ctx.tool(bad, {}).catch((error: Error) => error.message);
      const two = await ctx.call(failing, go).catch((error: Error) => error.name);
      return `${one}, ${two}`;
    });
    const { rows } = await fromEachPrefix(agent, (text) => expect(text).toMatch(/^bad failed: try \d+, AgentError$/));
    const first = rows.find(({ key, event }) => key.startsWith('flow/bad~') && event === 'failed');
    expect(first?.value).toMatchObject({ kind: 'threw', message: 'bad failed: try 1' });
  });

  test('cancelled while it sleeps, a procedure ends', async () => {
    const agent = flow(async (ctx) => {
      await ctx.sleep(60_000);
      return 'awake';
    });
    const store: RecordStore & { file: string } = journal();
    const run = startRun(agent, go, { journal: store, runId: 'r1', graceMs: 0 });
    await new Promise<void>((resolve) => run.once('agent.start', () => resolve()));
    await journal(store.file).signal('r1', { kind: 'cancel', id: 'c', path: 'flow', reason: 'enough' });
    expect(await run.result).toMatchObject({ status: 'cancelled' });
  });

  test.each(['suspended', 'aborted'] as const)(
    'whose code catches what became of a child when the run was %s has not completed, and goes on',
    async (status) => {
      const save = defineTool({
        name: 'save',
        description: 's',
        input: z.object({}),
        access: 'write',
        execute: () => 'saved',
      });
      const child = defineAgent({ name: 'child', description: 'c', run: (_input, ctx) => ctx.tool(save, {}) });
      const agent = flow((ctx) => ctx.call(child, go).catch((error: Error) => `caught ${error.name}`));
      const store = journal();
      const abort = new AbortController();
      const run = startRun(agent, go, { journal: store, runId: 'r1', signal: abort.signal });
      if (status === 'aborted') run.on('approval.request', () => abort.abort());
      expect((await run.result).status).toBe(status);
      const approve = () => ({ decision: 'allow' }) as const;
      const resumed = await resumeRun(agent, 'r1', { journal: store, approve }).result;
      expect(resumed).toMatchObject({ status: 'completed', output: 'saved' });
    },
  );

  test('whose code caught a failure before the run was cancelled has completed, also at a resume', async () => {
    const bad = defineTool({
      name: 'bad',
      description: 'b',
      input: z.object({}),
      access: 'read',
      execute: () => Promise.reject(new Error('no')),
    });
    const child = defineAgent({ name: 'child', description: 'c', run: (_input, ctx) => ctx.tool(bad, {}) });
    const caught = defineAgent({
      name: 'caught',
      description: 'c',
      async run(_input, ctx) {
        const all = await ctx.fanOut(child, [go, { task: 'again' }], { policy: 'failFast' });
        return all.map(({ status }) => status).join();
      },
    });
    const agent = flow(async (ctx) => {
      const said = await ctx.call(caught, go);
      await ctx.sleep(60_000);
      return said;
    });
    const store = journal();
    const run = startRun(agent, go, { journal: store, runId: 'r1', graceMs: 0 });
    run.on(
      'agent.end',
      ({ agent: name }) => name === 'caught' && setImmediate(() => void run.cancel('flow', 'enough')),
    );
    const before = await run.result;
    expect(before).toMatchObject({ status: 'cancelled' });
    expect(before.tree.children).toMatchObject([{ agent: 'caught', status: 'completed' }]);
    const { rows = [] } = (await store.read('r1')) ?? {};
    const stop = rows.findIndex(({ key }) => key === 'flow/@cancel') + 1;
    for (const count of someNumbers(stop, rows.length - 1, 5)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'flow' });
      const { tree } = await resumeRun(agent, 'r1', { journal: half, graceMs: 0 }).result;
      expect(tree, `after ${count}`).toEqual(before.tree);
    }
  });
});

test('what a tool’s code made of a stop that met its call is no outcome: the resume goes on with it', async () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks',
    input: z.object({}),
    access: 'read',
    async run(_args, ctx) {
      try {
        return await ctx.wait('ok', {}, z.string());
      } catch {
        throw new Error('nobody said anything');
      }
    },
  });
  const lead = defineAgent({ name: 'lead', instructions: 'Ask.', tools: [ask] });
  const store = journal();
  const first = await runAgent(lead, 'Go', { model: scriptedModel([turn(['ask', {}])]), journal: store });
  expect(first.status).toBe('suspended');
  const [request] = first.status === 'suspended' ? first.pending : [];
  await store.signal(first.runId, {
    kind: 'decision',
    id: String(request?.id),
    decision: { decision: 'answer', value: 'yes' },
  });
  const second = await resumeRun(lead, first.runId, { model: scriptedModel([text('end')]), journal: store }).result;
  expect(results(second.messages).map((one) => one.text)).toEqual(['yes']);
});

describe('a sleep', () => {
  test('ends in time though the clock is set back meanwhile', async () => {
    const { now } = Date;
    onTestFinished(() => {
      Date.now = now;
    });
    const sleeper = flow(async (ctx) => {
      const asleep = ctx.sleep(50);
      Date.now = () => now() - 86_400_000;
      await asleep;
      return 'awake';
    });
    expect(await runAgent(sleeper, { task: 'Sleep' }, { limits: { timeMs: 10_000 } })).toMatchObject({
      output: 'awake',
    });
  });
});
