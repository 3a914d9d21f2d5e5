import {
  type ApprovalRequest,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  forkRun,
  type Model,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
  steerRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { journal, killedAfter } from '../support/journals.ts';
import { results, text, turn } from '../support/turns.ts';

const told = (messages: Parameters<typeof results>[0]) => results(messages).map((one) => one.text);

/** A lead with one worker that saves what it is told, run detached or not. */
function team(options: Parameters<typeof delegate>[1] = { detached: true }) {
  const saved: unknown[] = [];
  const save = defineTool({
    name: 'save',
    description: 'Saves',
    input: z.object({ what: z.string() }),
    access: 'write',
    execute: ({ what }) => {
      saved.push(what);
      return 'saved';
    },
  });
  const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [save] });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [delegate(worker, options)] });
  return { lead, saved };
}

const script = (worker: Parameters<typeof scriptedModel>[0] = [turn(['save', { what: 'x' }]), text('done')]): Model =>
  scriptedModel({ lead: [turn(['delegate_worker', { task: 'Go' }]), text('all done')], worker } as never);

const twice = <T>(turns: readonly T[]): T[] => [...turns, ...turns];
const allow = { mode: 'acceptAll' } as const;

describe('a detached child', () => {
  test('ends as one that is not', async () => {
    const detached = team();
    const beside = team({});
    const [a, b] = await Promise.all([
      runAgent(detached.lead, 'Go', { model: script(), permissions: allow, runId: 'r' }),
      runAgent(beside.lead, 'Go', { model: script(), permissions: allow, runId: 'r' }),
    ]);
    expect(a.status).toBe('completed');
    expect(detached.saved).toEqual(['x']);
    const facts = ({ messages: _, traceId: __, tree, ...rest }: typeof a) => ({ ...rest, tree });
    expect(facts(a)).toEqual(facts(b));
    expect(told(a.messages)).toEqual(told(b.messages));
  });

  test('carries the label of what it saw', async () => {
    const write = defineTool({
      name: 'write',
      description: 'w',
      input: z.object({}),
      access: 'write',
      execute: () => 'written',
    });
    const fetch = defineTool({
      name: 'fetch',
      description: 'f',
      input: z.object({}),
      access: 'read',
      execute: () => 'page',
    });
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [fetch] });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'Lead.',
      workers: [delegate(worker, { detached: true })],
      tools: [write],
    });
    const model = scriptedModel({
      lead: [turn(['delegate_worker', { task: 'Go' }]), turn(['write']), text('done')],
      worker: [turn(['fetch']), text('seen')],
    });
    const asked: ApprovalRequest[] = [];
    await runAgent(lead, 'Go', {
      model,
      permissions: { mode: 'acceptAll' },
      approve: (request) => {
        asked.push(request);
        return { decision: 'deny' };
      },
    });
    expect(asked.map(({ reason, tool, label }) => [reason, tool, label.integrity])).toEqual([
      ['flow', 'write', 'untrusted'],
    ]);
  });

  test('has the rules of all above, and a cap of its delegate', async () => {
    const denied = team();
    const a = await runAgent(denied.lead, 'Go', {
      model: script(),
      permissions: { mode: 'acceptAll', rules: ['deny save:x'] },
    });
    expect(denied.saved).toEqual([]);
    expect(a.status).toBe('completed');
    const planned = team({ detached: true, permissions: { mode: 'plan' } });
    await runAgent(planned.lead, 'Go', { model: script(), permissions: allow });
    expect(planned.saved).toEqual([]);
    const capped = team({ detached: true, tools: [] });
    await runAgent(capped.lead, 'Go', { model: script(), permissions: allow });
    expect(capped.saved).toEqual([]);
  });

  test('asks where its parent runs, under its address there', async () => {
    const { lead, saved } = team();
    const asked: ApprovalRequest[] = [];
    const result = await runAgent(lead, 'Go', {
      model: script(),
      runId: 'r1',
      approve: (request) => {
        asked.push(request);
        return { decision: 'allow' };
      },
    });
    expect(result.status).toBe('completed');
    expect(saved).toEqual(['x']);
    expect(asked.map(({ id, path, runId, agent }) => [id, path, runId, agent])).toEqual([
      ['lead/1.0/worker/1.0/@approval', 'lead/1.0/worker', 'r1', 'worker'],
    ]);
  });

  test('is denied where nobody is there to answer', async () => {
    const { lead, saved } = team();
    const result = await runAgent(lead, 'Go', { model: script() });
    expect(result.status).toBe('completed');
    expect(saved).toEqual([]);
  });

  test('is pending in its parent until somebody decides', async () => {
    const { lead, saved } = team();
    const run = startRun(lead, 'Go', { model: script(), onIdle: 'wait' });
    const requested = Promise.withResolvers<string>();
    run.on('approval.request', ({ request }) => requested.resolve(request.id));
    const id = await requested.promise;
    expect(run.pending().map((one) => one.id)).toEqual([id]);
    await run.decide(id, { decision: 'deny', reason: 'no' });
    const result = await run.result;
    expect([result.status, saved]).toEqual(['completed', []]);
  });

  test('two questions are answered one by one', async () => {
    const { lead, saved } = team();
    const worker = [turn(['save', { what: 'a' }], ['save', { what: 'b' }]), text('done')];
    const order: string[] = [];
    const run = startRun(lead, 'Go', { model: script(worker), onIdle: 'wait' });
    run.on('approval.request', async ({ request }) => {
      order.push(request.id);
      if (order.length === 2) await run.decide(order[1] as string, { decision: 'allow' });
    });
    await expect.poll(() => saved).toEqual(['b']);
    await run.decide(order[0] as string, { decision: 'allow' });
    const result = await run.result;
    expect([result.status, saved]).toEqual(['completed', ['b', 'a']]);
    expect(order).toHaveLength(2);
  });

  test('stops when its parent is told to', async () => {
    const stuck = defineTool({
      name: 'stuck',
      description: 's',
      input: z.object({}),
      access: 'read',
      execute: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject())),
    });
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [stuck] });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'Lead.',
      workers: [delegate(worker, { detached: true })],
    });
    const run = startRun(lead, 'Go', { model: script([turn(['stuck'])]) });
    await expect.poll(() => run.tree().children.length).toBe(1);
    await run.cancel('lead/1.0/worker', 'enough');
    const result = await run.result;
    expect(result.status).toBe('completed');
    expect(told(result.messages)).toEqual(['cancelled: enough']);
  });
});

describe('a grant', () => {
  test('needs limits of its own under a cap, and holds it', async () => {
    const open = team();
    const a = await runAgent(open.lead, 'Go', { model: script(), permissions: allow, limits: { tokens: 100_000 } });
    expect(told(a.messages)[0]).toContain('limits.tokens');
    expect(open.saved).toEqual([]);
    const closed = team({ detached: true, limits: { tokens: 20_000 } });
    const b = await runAgent(closed.lead, 'Go', { model: script(), permissions: allow, limits: { tokens: 100_000 } });
    expect([b.status, closed.saved]).toEqual(['completed', ['x']]);
    const over = team({ detached: true, limits: { tokens: 200_000 } });
    const c = await runAgent(over.lead, 'Go', { model: script(), permissions: allow, limits: { tokens: 100_000 } });
    expect([told(c.messages)[0]?.slice(0, 11), over.saved]).toEqual(['token_limit', []]);
  });

  test('counts what the child used against the limits of the run', async () => {
    const { lead } = team();
    const model = scriptedModel({
      lead: [...Array(5)].map(() => turn(['delegate_worker', { task: 'Go' }])),
      worker: [...Array(5)].flatMap((_, at) => [turn(['save', { what: `${at}` }]), text('done')]),
    });
    const result = await runAgent(lead, 'Go', { model, permissions: allow, limits: { steps: 6 } });
    expect([result.status, result.steps]).toEqual(['step_limit', 6]);
  });

  test('an agent from above cannot stand below', async () => {
    const { lead } = team();
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'w',
      tools: () => [delegate(defineAgent({ name: 'lead', description: 'l', instructions: 'l' }))],
    });
    const above = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { detached: true })],
    });
    const model = scriptedModel({
      lead: [turn(['delegate_worker', { task: 'Go' }]), text('end')],
      worker: [turn(['delegate_lead', { task: 'Go' }]), text('done')],
    });
    const store = journal();
    const result = await runAgent(above, 'Go', { model, journal: store, runId: 'r1' });
    expect(result.status).toBe('completed');
    const rows = (await store.list()).map(({ id, agent }) => [id.slice(0, 3), agent]);
    expect(rows).toEqual([
      ['r1', 'lead'],
      ['r1.', 'worker'],
    ]);
    expect(result.tree.children[0]?.children).toEqual([]);
    void lead;
  });
});

describe('a detached child lives on', () => {
  test('across processes while it waits for a person', async () => {
    const { lead, saved } = team();
    const store = journal();
    const first = await runAgent(lead, 'Go', { model: script(), journal: store, runId: 'r1' });
    expect(first.status).toBe('suspended');
    const [request] = first.status === 'suspended' ? first.pending : [];
    expect(request?.id).toBe('lead/1.0/worker/1.0/@approval');
    await store.signal('r1', { kind: 'decision', id: String(request?.id), decision: { decision: 'allow' } });
    const model = scriptedModel({ lead: [text('all done')], worker: [text('done')] });
    const second = await resumeRun(lead, 'r1', { model, journal: store }).result;
    expect([second.status, second.text, saved]).toEqual(['completed', 'all done', ['x']]);
    expect(second.usage).toMatchObject({ modelCalls: 4, inputTokens: 40, outputTokens: 20 });
    const again = await replayRun(lead, { journal: store, runId: 'r1' }).result;
    expect([again.status, again.text, again.usage, again.steps]).toEqual([
      second.status,
      second.text,
      second.usage,
      second.steps,
    ]);
    expect(saved).toEqual(['x']);
  });

  test('and its run is resumed by its parent only', async () => {
    const { lead } = team();
    const store = journal();
    await runAgent(lead, 'Go', { model: script(), journal: store, runId: 'r1' });
    const child = (await store.list()).find(({ id }) => id !== 'r1')?.id as string;
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.' });
    await expect(resumeRun(worker, child, { model: script(), journal: store }).result).rejects.toThrow('Resume r1');
  });

  test('and a message for it is refused, with its run, also before that has begun', async () => {
    const { lead } = team();
    const store = journal();
    const path = 'lead/1.0/worker';
    await runAgent(lead, 'Go', { model: script(), permissions: allow, journal: store, runId: 'r1' });
    const child = (await store.list()).find(({ id }) => id !== 'r1')?.id;
    const rows = (await store.read('r1'))?.rows ?? [];
    const started = rows.findIndex(({ kind, key }) => kind === 'agent' && key === path);
    const half = await killedAfter(rows, started + 1, { id: 'r1', agent: 'lead' });
    const refusal = `${path} runs detached, as run ${child},`;
    await expect(steerRun('r1', path, 'Hurry', { journal: half })).rejects.toThrow(refusal);
    const run = resumeRun(lead, 'r1', { model: script(), permissions: allow, journal: half });
    await expect(run.steer(path, 'Hurry')).rejects.toThrow(refusal);
    expect((await run.result).status).toBe('completed');
  });

  test('a fork has a child of its own, which asks anew', async () => {
    const { lead, saved } = team();
    const store = journal();
    const model = () =>
      scriptedModel({
        lead: twice([turn(['delegate_worker', { task: 'Go' }]), text('all done')]),
        worker: twice([turn(['save', { what: 'x' }]), text('done')]),
      });
    await runAgent(lead, 'Go', { model: model(), permissions: allow, journal: store, runId: 'r1' });
    expect(saved).toEqual(['x']);
    const rows = (await store.read('r1'))?.rows ?? [];
    const before = rows.find(({ kind }) => kind === 'child')?.record as number;
    const script = scriptedModel({ lead: [text('all done')], worker: [turn(['save', { what: 'y' }]), text('done')] });
    const forked = await forkRun(lead, 'r1', {
      model: script,
      permissions: allow,
      journal: store,
      before: { record: before },
      runId: 'r2',
    }).result;
    expect([forked.status, saved]).toEqual(['completed', ['x', 'y']]);
    expect((await store.list()).map(({ id }) => id.replace(/\..*/, '.')).sort()).toEqual(['r1', 'r1.', 'r2', 'r2.']);
  });
});
