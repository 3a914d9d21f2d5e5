import {
  type ApprovalRequest,
  defineAgent,
  defineSupervisor,
  defineTool,
  type ModelTurn,
  type RecordStore,
  type RunRecord,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { gate, results, text, turn } from '../support/turns.ts';

function sender(more: object = {}) {
  const ran: string[] = [];
  const tool = defineTool({
    name: 'send',
    description: 'sends',
    input: z.object({ to: z.string() }),
    access: 'send',
    ...more,
    execute({ to }) {
      ran.push(to);
      return `sent to ${to}`;
    },
  });
  return { tool, ran, agent: defineAgent({ name: 'lead', instructions: 'Send.', tools: [tool] }) };
}

const decision = (id: string, what: 'allow' | 'deny' = 'allow') =>
  ({ kind: 'decision', id, decision: { decision: what } }) as const;

async function parked(store: RecordStore, agent = sender().agent, turns: ModelTurn[] = [turn(['send', { to: 'a' }])]) {
  const result = await runAgent(agent, 'Go', { model: scriptedModel(turns), journal: store, runId: 'r1' });
  expect(result.status).toBe('suspended');
  return result;
}

describe('a run that waits for a person', () => {
  test('parks, is listed with what waits, and goes on in another process once it is decided', async () => {
    const { agent, ran } = sender();
    const store = journal();
    const first = await parked(store, agent);
    expect(first).toMatchObject({ pending: [{ id: 'lead/1.0/@approval', tool: 'send', args: { to: 'a' } }] });
    expect(await store.list()).toMatchObject([{ status: 'suspended', pending: [{ id: 'lead/1.0/@approval' }] }]);
    const elsewhere = journal(store.file);
    expect(await elsewhere.signal('r1', decision('lead/1.0/@approval'))).toBe(true);
    expect(await elsewhere.signal('r1', decision('lead/1.0/@approval', 'deny'))).toBe(false);
    const second = await resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: elsewhere }).result;
    expect(second).toMatchObject({ status: 'completed', text: 'end', toolCalls: 1, steps: 2 });
    expect(results(second.messages)).toEqual([{ text: 'sent to a', isError: false }]);
    expect(ran).toEqual(['a']);
    expect(await elsewhere.signal('r1', decision('lead/1.0/@approval')), 'after it was used').toBe(false);
  });

  test('parks again where nobody has decided, as often as it is resumed', async () => {
    const { agent, ran } = sender();
    const store = journal();
    await parked(store, agent);
    for (let n = 0; n < 3; n += 1) {
      const again = await resumeRun(agent, 'r1', { model: scriptedModel([]), journal: store }).result;
      expect(again).toMatchObject({ status: 'suspended', pending: [{ id: 'lead/1.0/@approval', runId: 'r1' }] });
    }
    const run = resumeRun(agent, 'r1', { model: scriptedModel([text('no')]), journal: store });
    await run.decide('lead/1.0/@approval', { decision: 'deny', reason: 'not today' });
    const end = await run.result;
    expect(end.status).toBe('completed');
    expect(results(end.messages)[0]?.text).toContain('not today');
    expect(ran).toEqual([]);
  });

  test('siblings and supervisors go on meanwhile, and keep what they did', async () => {
    const { tool, ran } = sender();
    const looks: string[] = [];
    const look = defineTool({
      name: 'look',
      description: 'l',
      input: z.object({}),
      access: 'read',
      execute: (_, ctx) => looks.push(ctx.path),
    });
    const asks = defineAgent({ name: 'asks', description: 'a', instructions: 'Ask.', tools: [tool] });
    const works = defineAgent({ name: 'works', description: 'w', instructions: 'Work.', tools: [look] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [asks, works] });
    const store = journal();
    const script = {
      lead: [
        turn(['delegate_asks', { task: 'x' }], ['delegate_works', { task: 'y' }], ['delegate_asks', { task: 'z' }]),
      ],
      asks: [turn(['send', { to: 'a' }]), turn(['send', { to: 'b' }])],
      works: [turn(['look']), text('worked')],
    };
    const first = await runAgent(lead, 'Go', { model: scriptedModel(script), journal: store, runId: 'r1' });
    expect(first.status).toBe('suspended');
    if (first.status !== 'suspended') return;
    expect(first.pending.map(({ id }) => id).toSorted()).toEqual([
      'lead/1.0/asks/1.0/@approval',
      'lead/1.2/asks/1.0/@approval',
    ]);
    await store.signal('r1', decision('lead/1.2/asks/1.0/@approval'));
    const records: RunRecord[] = [];
    const options = { journal: store, views: [(record: RunRecord) => records.push(record)] };
    const second = await resumeRun(lead, 'r1', { ...options, model: scriptedModel({ asks: [text('asked')] }) }).result;
    expect(second.status, 'the other still waits').toBe('suspended');
    expect(looks).toHaveLength(1);
    expect(records.filter(({ node }) => node.agent === 'works')).toEqual([]);
    await store.signal('r1', decision('lead/1.0/asks/1.0/@approval'));
    const third = await resumeRun(lead, 'r1', {
      journal: store,
      model: scriptedModel({ asks: [text('asked')], lead: [text('end')] }),
    }).result;
    expect(third).toMatchObject({ status: 'completed', text: 'end' });
    expect(results(third.messages).map((one) => one.text)).toEqual(['asked', 'worked', 'asked']);
    expect(looks).toHaveLength(1);
    expect(ran).toHaveLength(2);
  });

  test('a decision that came before the request is asked for counts', async () => {
    const { agent, ran } = sender();
    const store = journal();
    const hold = gate<ModelTurn>();
    const run = startRun(agent, 'Go', {
      model: scriptedModel([() => hold.promise, text('end')]),
      journal: store,
      runId: 'r1',
    });
    await new Promise<void>((resolve) => run.once('model.start', () => resolve()));
    expect(await journal(store.file).signal('r1', decision('lead/1.0/@approval'))).toBe(true);
    hold.open(turn(['send', { to: 'a' }]));
    expect((await run.result).status).toBe('completed');
    expect(ran).toEqual(['a']);
  });

  test('a live run hears another process within 100 ms while it waits, and the first decision holds', async () => {
    const { agent, ran } = sender();
    const store = journal();
    const run = startRun(agent, 'Go', {
      model: scriptedModel([turn(['send', { to: 'a' }]), text('end')]),
      journal: store,
      runId: 'r1',
      onIdle: 'wait',
    });
    const elsewhere = journal(store.file);
    await new Promise<void>((resolve) => run.once('approval.request', () => resolve()));
    const since = performance.now();
    const decided = new Promise<number>((resolve) => run.once('approval.decision', () => resolve(performance.now())));
    expect(await elsewhere.signal('r1', decision('lead/1.0/@approval'))).toBe(true);
    expect((await decided) - since).toBeLessThan(100 + 200);
    await expect(run.decide('lead/1.0/@approval', { decision: 'deny' })).rejects.toThrow(
      /nothing waits|decided before/,
    );
    expect((await run.result).status).toBe('completed');
    expect(ran).toEqual(['a']);
  });

  test('what the process itself decided is refused to others', async () => {
    const { agent } = sender();
    const store = journal();
    const run = startRun(agent, 'Go', {
      model: scriptedModel([turn(['send', { to: 'a' }]), text('end')]),
      journal: store,
      runId: 'r1',
      onIdle: 'wait',
    });
    await new Promise<void>((resolve) => run.once('approval.request', () => resolve()));
    await run.decide('lead/1.0/@approval', { decision: 'allow' });
    expect(await journal(store.file).signal('r1', decision('lead/1.0/@approval', 'deny'))).toBe(false);
    expect(results((await run.result).messages)[0]?.isError).toBe(false);
  });

  test('an approval for a tool or arguments that are no longer what was shown is none', async () => {
    const store = journal();
    await parked(store);
    await store.signal('r1', decision('lead/1.0/@approval'));
    const { agent, ran } = sender({ description: 'sends, and posts it in public' });
    const asked: ApprovalRequest[] = [];
    const second = await resumeRun(agent, 'r1', { model: scriptedModel([]), journal: store }).result;
    expect(second.status, 'it is asked for anew').toBe('suspended');
    const approve = (request: ApprovalRequest) => {
      asked.push(request);
      return { decision: 'allow' } as const;
    };
    const third = await resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, approve }).result;
    expect(third.status).toBe('completed');
    expect(asked).toHaveLength(1);
    expect(asked[0]?.id).toMatch(/^lead\/1\.0\/@approval~[0-9a-f]{8}$/);
    expect(ran).toEqual(['a']);
  });

  test('a recorded approval without an outcome is checked again as well', async () => {
    const { agent } = sender();
    const store = journal();
    await runAgent(agent, 'Go', {
      model: scriptedModel([turn(['send', { to: 'a' }]), text('end')]),
      journal: store,
      runId: 'r1',
      approve: () => ({ decision: 'allow' }),
    });
    const rows = (await store.read('r1'))?.rows ?? [];
    const cut = rows.findIndex(({ kind, key, event }) => kind === 'tool' && key === 'lead/1.0' && event === 'started');
    const half = await killedAfter(rows, cut, { id: 'r1', agent: 'lead' });
    const changed = sender({ description: 'another' });
    const second = await resumeRun(changed.agent, 'r1', { model: scriptedModel([]), journal: half }).result;
    expect(second.status).toBe('suspended');
    expect(changed.ran).toEqual([]);
  });

  test('a stricter rule holds at a resume', async () => {
    const { agent, ran } = sender();
    const store = journal();
    await parked(store, agent);
    await store.signal('r1', decision('lead/1.0/@approval'));
    const permissions = { rules: ['deny send'] };
    const second = await resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, permissions })
      .result;
    expect(results(second.messages)[0]?.text).toMatch(/denied/);
    expect(ran).toEqual([]);
  });

  test('an approval expires also while nobody runs it; one given in time counts', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const [late, expected] of [
      [false, ['a']],
      [true, []],
    ] as const) {
      const { agent, ran } = sender();
      const store = journal();
      const permissions = { expiresMs: 60_000 };
      const model = scriptedModel([turn(['send', { to: 'a' }])]);
      const first = await runAgent(agent, 'Go', { model, journal: store, runId: 'r1', permissions });
      expect(first.status).toBe('suspended');
      if (!late) await store.signal('r1', decision('lead/1.0/@approval'));
      vi.setSystemTime(Date.now() + 80_000);
      if (late) await store.signal('r1', decision('lead/1.0/@approval'));
      const second = await resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, permissions })
        .result;
      expect(second.status).toBe('completed');
      expect(ran, String(late)).toEqual(expected);
      if (late) expect(results(second.messages)[0]?.text).toMatch(/expired/);
    }
  });

  test('one that expired while nobody ran the run is denied by the resume, and a long one does not expire early', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { agent, ran } = sender();
    const store = journal();
    const model = scriptedModel([turn(['send', { to: 'a' }])]);
    const permissions = { expiresMs: 90 * 86_400_000 };
    const live = startRun(agent, 'Go', {
      model: scriptedModel([turn(['send', { to: 'a' }])]),
      permissions,
      onIdle: 'wait',
    });
    const asked = await new Promise<string>((resolve) =>
      live.on('approval.request', ({ request }) => resolve(request.id)),
    );
    await vi.advanceTimersByTimeAsync(60 * 86_400_000);
    expect(live.pending().map(({ id }) => id)).toEqual([asked]);
    await live.cancel();
    await runAgent(agent, 'Go', { model, journal: store, runId: 'r1', permissions });
    vi.setSystemTime(Date.now() + permissions.expiresMs);
    const run = resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, permissions });
    const { status, messages } = await run.result;
    expect(status).toBe('completed');
    expect(results(messages)[0]?.text).toMatch(/expired/);
    expect(ran).toEqual([]);
  });

  test('what `always` wrote holds after a resume', async () => {
    const save = defineTool({
      name: 'save',
      description: 's',
      input: z.object({ path: z.string() }),
      access: 'write',
      repeatable: true,
      execute: () => 'saved',
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Save.', tools: [save] });
    const store = journal();
    const hold = new AbortController();
    const model = scriptedModel([
      turn(['save', { path: 'a' }]),
      () => {
        hold.abort();
        return text('never');
      },
    ]);
    const approve = () => ({ decision: 'allow', always: true }) as const;
    const permissions = { trust: ['save'] };
    await runAgent(lead, 'Go', { model, journal: store, runId: 'r1', approve, permissions, signal: hold.signal });
    const again = scriptedModel([turn(['save', { path: 'a' }]), text('end')]);
    const second = await resumeRun(lead, 'r1', { model: again, journal: store, permissions }).result;
    expect(second).toMatchObject({ status: 'completed' });
    expect(results(second.messages)).toEqual([
      { text: 'saved', isError: false },
      { text: 'saved', isError: false },
    ]);
  });

  test('with arguments that a person changed, the call is the same at every resume', async () => {
    const seen: string[] = [];
    const draw = defineTool({
      name: 'draw',
      description: 'draws',
      input: z.object({ to: z.string(), id: z.string().default(() => String(Math.random())) }),
      access: 'send',
      onUnknownOutcome: 'retry',
      execute({ to, id }) {
        seen.push(`${to} ${id}`);
        return 'drawn';
      },
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Draw.', tools: [draw] });
    const approve = () => ({ decision: 'allow', args: { to: 'b' } }) as const;
    const store = journal();
    const model = () =>
      scriptedModel(({ messages }) => (messages.length > 1 ? text('end') : turn(['draw', { to: 'a' }])));
    const first = await runAgent(lead, 'Go', { model: model(), journal: store, runId: 'r1', approve });
    const rows = (await store.read('r1'))?.rows ?? [];
    const ran = seen.pop();
    for (const count of someNumbers(2, rows.length - 1, 6)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const began = rows.slice(0, count).some(({ kind, event }) => kind === 'tool' && event === 'started');
      const { status, messages } = await resumeRun(lead, 'r1', { model: model(), journal: half, approve }).result;
      expect(status, `after ${rows[count - 1]?.key}`).toBe('completed');
      expect(results(messages)).toEqual(results(first.messages));
      // With what it began with, not with what a schema would fill in now.
      if (began) expect(seen).toEqual(seen.map(() => ran));
      seen.length = 0;
    }
  });

  test('cancelled by another process, a live run and a parked one end', async () => {
    const { agent, ran } = sender();
    for (const live of [true, false]) {
      const store = journal();
      const model = scriptedModel([turn(['send', { to: 'a' }])]);
      const options = { model, journal: store, onIdle: live ? 'wait' : 'suspend' } as const;
      const run = startRun(agent, 'Go', { ...options, runId: 'r1' });
      if (live) await new Promise<void>((resolve) => run.once('approval.request', () => resolve()));
      else await run.result;
      await journal(store.file).signal('r1', { kind: 'cancel', id: 'lead/@cancel', path: 'lead', reason: 'enough' });
      const end = live ? await run.result : await resumeRun(agent, 'r1', options).result;
      expect(end).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
      expect((await store.list())[0]?.status).toBe('cancelled');
    }
    expect(ran).toEqual([]);
  });
});

describe('a call of which nobody knows whether it happened', () => {
  async function onUnknown(onUnknownOutcome: 'retry' | 'fail' | 'ask') {
    const { agent, ran, tool } = sender({ onUnknownOutcome });
    const store = journal();
    const permissions = { rules: ['allow send'] };
    await runAgent(agent, 'Go', {
      model: scriptedModel([turn(['send', { to: 'a' }]), text('end')]),
      journal: store,
      runId: 'r1',
      permissions,
    });
    const rows = (await store.read('r1'))?.rows ?? [];
    const cut = rows.findIndex(
      (row: StoredRow) => row.kind === 'tool' && row.key === 'lead/1.0' && row.event === 'done',
    );
    return { agent, ran, tool, permissions, store: await killedAfter(rows, cut, { id: 'r1', agent: 'lead' }) };
  }

  test('is told as unknown where it is to fail', async () => {
    const { agent, ran, store, permissions } = await onUnknown('fail');
    const ends: unknown[] = [];
    const run = resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, permissions });
    run.on('tool.end', ({ error }) => ends.push(error?.kind));
    const { messages } = await run.result;
    expect(results(messages)).toEqual([
      { text: expect.stringMatching(/whether it took effect is unknown/), isError: true },
    ]);
    expect(ends).toEqual(['unknown_outcome']);
    expect(ran).toHaveLength(1);
  });

  test('is told as unknown, not as denied, where it may not run again', async () => {
    const { agent, ran, store } = await onUnknown('retry');
    const permissions = { rules: ['deny send'] };
    const options = { journal: store, permissions };
    const { messages } = await resumeRun(agent, 'r1', { ...options, model: scriptedModel([text('end')]) }).result;
    expect(results(messages)[0]?.text).toMatch(/whether it took effect is unknown/);
    expect(ran).toHaveLength(1);
  });

  test.each([
    [{ decision: 'happened', value: 'it went out' }, { text: 'it went out', isError: false }, 1],
    [{ decision: 'retry' }, { text: 'sent to a', isError: false }, 2],
    [{ decision: 'failed' }, { text: expect.stringMatching(/a person said that it failed/), isError: true }, 1],
    [{ decision: 'deny' }, { text: expect.stringMatching(/is unknown/), isError: true }, 1],
  ] as const)('is asked for: %j', async (answer, expected, times) => {
    const { agent, ran, store, permissions } = await onUnknown('ask');
    const waiting = await resumeRun(agent, 'r1', { model: scriptedModel([]), journal: store, permissions }).result;
    expect(waiting).toMatchObject({
      status: 'suspended',
      pending: [{ id: 'lead/1.0/@doubt', reason: 'unknown', tool: 'send' }],
    });
    const run = resumeRun(agent, 'r1', { model: scriptedModel([text('end')]), journal: store, permissions });
    if (answer.decision !== 'deny')
      await expect(run.decide('lead/1.0/@doubt', { decision: 'allow' })).rejects.toThrow(/does not answer/);
    await run.decide('lead/1.0/@doubt', answer);
    const { messages, status } = await run.result;
    expect(status).toBe('completed');
    expect(results(messages)).toEqual([expected]);
    expect(ran).toHaveLength(times);
  });

  test('is asked for again where it was killed again: an answer is good for one attempt', async () => {
    const { agent, store, permissions } = await onUnknown('ask');
    const first = resumeRun(agent, 'r1', {
      model: scriptedModel([text('end')]),
      journal: store,
      permissions,
      approve: () => ({ decision: 'retry' }),
    });
    await first.result;
    const rows = (await store.read('r1'))?.rows ?? [];
    const cut = rows.findLastIndex((row) => row.kind === 'tool' && row.key === 'lead/1.0' && row.event === 'done');
    expect(rows[cut - 1]).toMatchObject({ event: 'started', attempt: 2 });
    const half = await killedAfter(rows, cut, { id: 'r1', agent: 'lead' });
    const again = await resumeRun(agent, 'r1', { model: scriptedModel([]), journal: half, permissions }).result;
    expect(again).toMatchObject({ status: 'suspended', pending: [{ id: 'lead/1.0/@doubt.2' }] });
  });
});
