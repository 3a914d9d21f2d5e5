import { setTimeout as pause } from 'node:timers/promises';
import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  FencedError,
  JournalError,
  type Model,
  ModelError,
  type ModelTurn,
  type RecordStore,
  type RunRecord,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { database, journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { eventsOf, gate, results, text, turn } from '../support/turns.ts';

/** A tool that counts how often it ran. */
function counter(name: string, access: 'read' | 'write' | 'send' = 'read', more: object = {}) {
  const ran: string[] = [];
  const tool = defineTool({
    name,
    description: name,
    input: z.object({ q: z.string().default('') }),
    access,
    ...more,
    execute({ q }, ctx) {
      ran.push(q);
      return `${name} ${q} ${ctx.attempt}`;
    },
  });
  return { tool, ran };
}

async function rowsOf(store: RecordStore, id = 'r1'): Promise<readonly StoredRow[]> {
  return (await store.read(id))?.rows ?? [];
}

/** The run as a kill just before the first such record would have left it. */
async function killedBefore(store: RecordStore, isIt: (row: StoredRow) => boolean, agent = 'lead') {
  const rows = await rowsOf(store);
  const at = rows.findIndex(isIt);
  expect(at, 'the record is there').toBeGreaterThan(0);
  return killedAfter(rows, at, { id: 'r1', agent });
}

const ended = (key: string) => (row: StoredRow) => row.key === key && row.event !== 'started';
const started = (key: string) => (row: StoredRow) => row.key === key && row.event === 'started';

/** All bytes that tell of a run. */
function contents(store: { file: string }): string {
  return database(store.file, (db) => {
    const tables = ['runs', 'records', 'signals', 'blobs'].map((name) => {
      const select = db.prepare(`SELECT * FROM ${name}`);
      select.setReadBigInts(true);
      return select.all();
    });
    return JSON.stringify(tables, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  });
}

describe('what has an outcome stands', () => {
  test('failures are outcomes: a tool that threw and a model that refused come back as they were, and are not tried again', async () => {
    const ran: number[] = [];
    const broken = defineTool({
      name: 'broken',
      description: 'breaks',
      input: z.object({}),
      access: 'read',
      execute() {
        ran.push(1);
        throw new Error(`attempt ${ran.length}`);
      },
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [broken] });
    const store = journal();
    const model = scriptedModel([turn(['broken']), text('It broke.')]);
    const first = await runAgent(lead, 'Go', { model, journal: store, runId: 'r1' });
    const cut = await killedBefore(store, started('lead/2/model'));
    const second = await resumeRun(lead, 'r1', { model: scriptedModel([text('It broke.')]), journal: cut }).result;
    expect(ran).toHaveLength(1);
    expect(results(second.messages)).toEqual([{ text: 'broken failed: attempt 1', isError: true }]);
    expect(second.messages).toEqual(first.messages);
    const auth = journal();
    const fails = scriptedModel([new ModelError('auth', 'no key')]);
    await runAgent(lead, 'Go', { model: fails, journal: auth, runId: 'r1' });
    const before = await killedBefore(auth, ended('lead/1'));
    const never = scriptedModel([]);
    const again = await resumeRun(lead, 'r1', { model: never, journal: before }).result;
    expect(again).toMatchObject({ status: 'model_error', error: { kind: 'auth', message: 'no key' } });
    expect(never.requests).toHaveLength(0);
  });

  test('a call that was refused stays refused, also where it would be allowed now', async () => {
    const { tool, ran } = counter('send', 'send');
    const worker = defineAgent({ name: 'worker', description: 'works', instructions: 'Do it.' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Do it.', tools: [tool], workers: [worker] });
    const store = journal();
    const model = scriptedModel({
      lead: [
        turn(['send', { q: 'a' }], ['nothing', {}], ['send', { p: 1 }], ['delegate_worker', { task: 't' }]),
        text('end'),
      ],
    });
    const rules = ['deny send', 'deny delegate_worker'];
    const first = await runAgent(lead, 'Go', { model, journal: store, runId: 'r1', permissions: { rules } });
    expect(results(first.messages).map(({ isError }) => isError)).toEqual([true, true, true, true]);
    const cut = await killedBefore(store, started('lead/2/model'));
    const last = scriptedModel({ lead: [text('end')] });
    const second = await resumeRun(lead, 'r1', { model: last, journal: cut, permissions: { mode: 'acceptAll' } })
      .result;
    expect(ran).toEqual([]);
    expect(second.messages).toEqual(first.messages);
    expect(second.tree.children).toEqual([]);
  });

  test('arguments that a schema fills anew are those that were recorded', async () => {
    const seen: string[] = [];
    let ids = 0;
    const drawing = defineTool({
      name: 'draw',
      description: 'draws',
      input: z.object({ id: z.string().default(() => `id${++ids}`) }),
      access: 'send',
      onUnknownOutcome: 'retry',
      execute({ id }) {
        seen.push(id);
        return id;
      },
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [drawing] });
    const store = journal();
    const options = { permissions: { rules: ['allow draw'] }, runId: 'r1' };
    await runAgent(lead, 'Go', { ...options, model: scriptedModel([turn(['draw']), text('end')]), journal: store });
    const cut = await killedBefore(store, ended('lead/1.0'));
    const { status } = await resumeRun(lead, 'r1', {
      permissions: options.permissions,
      model: scriptedModel([text('end')]),
      journal: cut,
    }).result;
    expect(status).toBe('completed');
    expect(ids).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(1);
    expect(seen).toHaveLength(2);
  });

  test('a run that is over comes back as it ended, and nothing is written', async () => {
    const { tool } = counter('look');
    const ends: { [status: string]: { turns: (ModelTurn | Error | string)[]; options?: object } } = {
      completed: { turns: [turn(['look']), text('end')] },
      model_error: { turns: [new ModelError('auth', 'no')] },
      step_limit: { turns: [turn(['look']), text('what I have')], options: { limits: { steps: 1 } } },
      tool_limit: { turns: [turn(['look'], ['look'])], options: { limits: { toolCalls: 1 } } },
      loop_detected: { turns: [...Array(3).fill(turn(['look'])), text('stuck')] },
    };
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    for (const [status, { turns, options }] of Object.entries(ends)) {
      const store = journal();
      const given = { journal: store, ...options };
      const first = await runAgent(lead, 'Go', { ...given, model: scriptedModel(turns), runId: 'r1' });
      expect(first.status).toBe(status);
      const before = contents(store);
      const records: RunRecord[] = [];
      const run = resumeRun(lead, 'r1', {
        ...given,
        model: scriptedModel([]),
        views: [(record) => records.push(record)],
      });
      const events = eventsOf(run);
      expect(await run.result, status).toEqual(JSON.parse(JSON.stringify(first)));
      expect(contents(store), status).toBe(before);
      expect(records).toEqual([]);
      expect((await events).map(({ type }) => type)).toEqual(['run.end']);
    }
  });

  test('a cancelled run is over, an aborted one goes on', async () => {
    const { tool, ran } = counter('look');
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    const cancelled = journal();
    const hold = gate();
    const waits = scriptedModel([turn(['look']), async () => hold.promise.then(() => text('late'))]);
    const run = startRun(lead, 'Go', { model: waits, journal: cancelled, runId: 'r1', graceMs: 0 });
    run.on('tool.end', () => void run.cancel('lead', 'enough'));
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(await resumeRun(lead, 'r1', { model: waits, journal: cancelled }).result).toMatchObject({
      status: 'cancelled',
    });
    const aborted = journal();
    const controller = new AbortController();
    const model = scriptedModel([
      turn(['look']),
      () => {
        controller.abort();
        return hold.promise.then(() => text('late'));
      },
    ]);
    const first = await runAgent(lead, 'Go', {
      model,
      journal: aborted,
      runId: 'r1',
      signal: controller.signal,
      graceMs: 0,
    });
    expect(first.status).toBe('aborted');
    const second = await resumeRun(lead, 'r1', { model: scriptedModel([text('end')]), journal: aborted }).result;
    expect(second).toMatchObject({ status: 'completed', text: 'end' });
    expect(ran).toHaveLength(2);
    hold.open();
  });
});

describe('whose run it is', () => {
  const lead = defineAgent({ name: 'lead', instructions: 'Do it.' });
  const say = () => scriptedModel([text('end')]);

  test('unknown runs, existing ids, other agents, missing journals are named', async () => {
    const store = journal();
    await runAgent(lead, 'Go', { model: say(), journal: store, runId: 'r1' });
    await expect(runAgent(lead, 'Go', { model: say(), journal: store, runId: 'r1' })).rejects.toThrow(
      ConfigurationError,
    );
    await expect(runAgent(lead, 'Go', { model: say(), journal: store, runId: 'r1' })).rejects.toThrow(
      /^runId: the run r1 exists/,
    );
    await expect(resumeRun(lead, 'r2', { model: say(), journal: store }).result).rejects.toThrow(
      /^runId: there is no run "r2"/,
    );
    expect(() => resumeRun(lead, 'r1', { model: say() } as never)).toThrow(/^journal: missing/);
    const half = await killedBefore(store, started('lead/1/model'));
    const other = defineAgent({ name: 'other', instructions: 'Do it.' });
    await expect(resumeRun(other, 'r1', { model: say(), journal: half }).result).rejects.toThrow(
      /^agent: run r1 is of agent lead, not other/,
    );
    expect(await resumeRun(lead, 'r1', { model: say(), journal: half }).result, 'it was left free').toMatchObject({
      status: 'completed',
    });
  });

  test('a run that died before its first record never began', async () => {
    const store = journal();
    (await store.create({ id: 'r1', agent: 'lead' })).abandon();
    await expect(resumeRun(lead, 'r1', { model: say(), journal: store }).result).rejects.toThrow(JournalError);
    await expect(resumeRun(lead, 'r1', { model: say(), journal: store }).result).rejects.toThrow(
      /never began. Start it anew/,
    );
    expect(await runAgent(lead, 'Go', { model: say(), journal: store, runId: 'r1' })).toMatchObject({
      status: 'completed',
    });
  });

  test('one that is under way is refused; taken over, its owner does nothing more', async () => {
    const sent: string[] = [];
    const began = gate();
    const hold = gate();
    const send = defineTool({
      name: 'send',
      description: 'sends',
      input: z.object({ q: z.string() }),
      access: 'send',
      execute({ q }) {
        sent.push(q);
        return 'sent';
      },
    });
    const sender = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [send] });
    const permissions = { rules: ['allow send'] };
    const store = journal();
    const slow: Model = scriptedModel([
      async () => {
        began.open();
        await hold.promise;
        return turn(['send', { q: 'zombie' }]);
      },
      text('end'),
    ]);
    const zombie = startRun(sender, 'Go', { model: slow, journal: store, runId: 'r1', permissions });
    // Records are shown once they are on disk.
    await new Promise<void>((resolve) => zombie.once('model.start', () => resolve()));
    await began.promise;
    const elsewhere = journal(store.file);
    await expect(resumeRun(sender, 'r1', { model: say(), journal: elsewhere, permissions }).result).rejects.toThrow(
      FencedError,
    );
    const model = scriptedModel([turn(['send', { q: 'owner' }]), text('end')]);
    const owner = resumeRun(sender, 'r1', { model, journal: elsewhere, permissions, takeover: true });
    expect(await owner.result).toMatchObject({ status: 'completed' });
    hold.open();
    await expect(zombie.result).rejects.toThrow(FencedError);
    expect(sent).toEqual(['owner']);
    expect((await rowsOf(store)).every(({ epoch, key }) => epoch === 2 || !key.startsWith('lead/1.'))).toBe(true);
  });

  test('of two that resume at once one goes on', async () => {
    const { tool, ran } = counter('send', 'send');
    const sender = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    const permissions = { rules: ['allow send'] };
    const store = journal();
    const script = () => scriptedModel([turn(['send', { q: 'x' }]), () => pause(20).then(() => text('end'))]);
    await runAgent(sender, 'Go', { model: script(), journal: store, runId: 'r1', permissions });
    ran.length = 0;
    const half = await killedBefore(store, started('lead/1/model'));
    const both = [half, journal(half.file)].map(
      (one) => resumeRun(sender, 'r1', { model: script(), journal: one, permissions }).result,
    );
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({ reason: expect.any(FencedError) });
    expect(ran).toEqual(['x']);
  });

  test('two replicas that resume everything at their start finish each run once', async () => {
    const { tool, ran } = counter('send', 'send');
    const sender = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    const permissions = { rules: ['allow send'] };
    const store = journal();
    const script = () => scriptedModel([turn(['send', { q: 'x' }]), text('end')]);
    const source = journal();
    await runAgent(sender, 'Go', { model: script(), journal: source, runId: 'r0', permissions });
    const rows = (await rowsOf(source, 'r0')).slice(0, 3);
    ran.length = 0;
    for (let n = 1; n <= 6; n += 1) (await store.create({ id: `r${n}`, agent: 'lead', rows })).abandon();
    const replica = async (own: RecordStore) => {
      const open = (await own.list()).filter(({ status }) => status === 'running');
      return Promise.allSettled(
        open.map(({ id }) => resumeRun(sender, id, { model: script(), journal: own, permissions }).result),
      );
    };
    const ends = (await Promise.all([replica(store), replica(journal(store.file))])).flat();
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(FencedError);
    expect((await store.list()).map(({ status }) => status)).toEqual(Array(6).fill('completed'));
    expect(ran).toHaveLength(6);
  });

  test('a journal that is closed under a run fails it, and the run can be resumed', async () => {
    const store = journal();
    const began = gate();
    const run = startRun(lead, 'Go', {
      model: scriptedModel([
        () => {
          began.open();
          return new Promise<never>(() => {});
        },
      ]),
      journal: store,
      runId: 'r1',
      graceMs: 0,
    });
    await began.promise;
    store.close();
    await expect(run.result).rejects.toThrow(/was closed while run r1 was under way/);
  });
});

describe('limits go on where they were', () => {
  test.each([
    ['steps', { steps: 1 }, { steps: 3 }, 'step_limit'],
    ['toolCalls', { toolCalls: 1 }, { toolCalls: 9 }, 'tool_limit'],
    ['tokens', { tokens: 40 }, { tokens: 9_000_000 }, 'token_limit'],
  ] as const)(
    'a run that ended on %s goes on where that is larger, and is over where it is not',
    async (_name, small, large, status) => {
      const { tool, ran } = counter('look');
      const lead = defineAgent({
        name: 'lead',
        instructions: 'Do it.',
        tools: [tool],
        settings: { maxOutputTokens: 5 },
      });
      const turns = [turn(['look', { q: 'a' }]), turn(['look', { q: 'b' }], ['look', { q: 'c' }]), text('end')];
      const byTranscript: Model = {
        provider: 'scripted',
        id: 'm',
        async generate({ messages, toolChoice }) {
          if (toolChoice === 'none') return text('what I have');
          return turns[messages.filter(({ role }) => role === 'assistant').length] as ModelTurn;
        },
      };
      const store = journal();
      const first = await runAgent(lead, 'Go', { model: byTranscript, journal: store, runId: 'r1', limits: small });
      expect(first.status).toBe(status);
      const before = contents(store);
      expect(await resumeRun(lead, 'r1', { model: byTranscript, journal: store, limits: small }).result).toMatchObject({
        status,
      });
      expect(contents(store)).toBe(before);
      const events: string[] = [];
      const run = resumeRun(lead, 'r1', { model: byTranscript, journal: store, limits: large });
      for (const type of ['tool.end', 'agent.end', 'run.end'] as const)
        run.on(type, (event) => events.push(`${event.type} ${event.key}`));
      const second = await run.result;
      expect(second).toMatchObject({ status: 'completed', text: 'end', steps: 3, toolCalls: 3 });
      expect(ran).toEqual(['a', 'b', 'c']);
      expect(events.filter((event) => !event.includes('tool.end'))).toEqual(['agent.end lead', 'run.end @run']);
      expect(await resumeRun(lead, 'r1', { model: byTranscript, journal: store, limits: large }).result).toMatchObject({
        text: 'end',
      });
    },
  );

  test('a larger limit that is still too small ends the run again', async () => {
    const { tool, ran } = counter('look');
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    const store = journal();
    const all = () =>
      scriptedModel(Array.from({ length: 4 }, () => turn(['look'], ['look', { q: 'b' }], ['look', { q: 'c' }])));
    for (const [toolCalls, expected] of [
      [1, 0],
      [2, 0],
      [3, 3],
    ] as const) {
      const options = { model: all(), journal: store, limits: { toolCalls } };
      const run = toolCalls === 1 ? startRun(lead, 'Go', { ...options, runId: 'r1' }) : resumeRun(lead, 'r1', options);
      expect((await run.result).status).toBe('tool_limit');
      expect(ran).toHaveLength(expected);
    }
  });

  test('working time is folded: what earlier lives took is gone, the time between is not', async () => {
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', limits: {} });
    const store = journal();
    const long = scriptedModel([() => pause(300).then(() => turn()), text('end')]);
    const first = await runAgent(lead, 'Go', {
      model: long,
      journal: store,
      runId: 'r1',
      limits: { timeMs: 100 },
      graceMs: 0,
    });
    expect(first.status).toBe('timeout');
    const slow = scriptedModel([() => pause(60).then(() => text('end'))]);
    await pause(150);
    const second = await resumeRun(lead, 'r1', { model: slow, journal: store, limits: { timeMs: 130 }, graceMs: 0 })
      .result;
    expect(second.status, '100 of 130 ms are gone').toBe('timeout');
    const third = await resumeRun(lead, 'r1', {
      model: scriptedModel([text('end')]),
      journal: store,
      limits: { timeMs: 1_000 },
    }).result;
    expect(third).toMatchObject({ status: 'completed', text: 'end' });
  });

  test('a worker that ran out of its own time stays so, and its calls are not made again', async () => {
    const { tool, ran } = counter('look');
    const worker = defineAgent({
      name: 'worker',
      description: 'w',
      instructions: 'Do it.',
      tools: [tool],
      limits: { timeMs: 30 },
    });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Do it.', workers: [worker] });
    const store = journal();
    const model = scriptedModel({
      lead: [turn(['delegate_worker', { task: 't' }]), text('end')],
      worker: [turn(['look']), () => pause(2_000).then(() => text('late'))],
    });
    const first = await runAgent(lead, 'Go', { model, journal: store, runId: 'r1', graceMs: 0 });
    expect(results(first.messages)[0]?.text).toMatch(/^timeout: /);
    const cut = await killedBefore(store, started('lead/2/model'));
    const again = scriptedModel({ lead: [text('end')], worker: [] });
    const records: RunRecord[] = [];
    const second = await resumeRun(lead, 'r1', {
      model: again,
      journal: cut,
      graceMs: 0,
      views: [(record) => records.push(record)],
    }).result;
    expect(second.messages).toEqual(first.messages);
    expect(ran).toHaveLength(1);
    expect(records.filter(({ node }) => node.path.includes('worker'))).toEqual([]);
  });

  test('tokens that earlier lives spent count, also where no usage was reported', async () => {
    const silent: ModelTurn = {
      content: [{ type: 'tool_call', id: 'a', name: 'look', arguments: '{}' }],
      stop: 'tool_calls',
    };
    const { tool } = counter('look', 'read', { repeatable: true });
    const settings = { maxOutputTokens: 500 };
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool], wrapUp: false, settings });
    const store = journal();
    const options = { limits: { tokens: 700 } };
    const model = () => scriptedModel(() => silent);
    const first = await runAgent(lead, 'Go', { ...options, model: model(), journal: store, runId: 'r1' });
    expect(first).toMatchObject({
      status: 'token_limit',
      error: { message: expect.stringMatching(/: [1-9]\d* are spent/) },
    });
    const spent = (result: object) =>
      (result as { error?: { message: string } }).error?.message.match(/(\d+) are spent/)?.[1];
    const rows = await rowsOf(store);
    const ends = rows.flatMap(({ kind, event }, index) => (kind === 'model' && event === 'done' ? [index + 1] : []));
    expect(ends.length).toBeGreaterThan(1);
    for (const count of ends) {
      const cut = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const second = await resumeRun(lead, 'r1', { ...options, model: model(), journal: cut }).result;
      expect(second).toMatchObject({ status: 'token_limit', steps: first.steps });
      expect(spent(second)).toBe(spent(first));
    }
  });
});

test('killed in its wrap-up turn, a run still ends on the limit that it had reached', async () => {
  const { tool } = counter('look');
  const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool], limits: { steps: 1 } });
  const store = journal();
  await runAgent(lead, 'Go', { model: scriptedModel([turn(['look']), text('so far')]), journal: store, runId: 'r1' });
  const cut = await killedBefore(store, ended('lead/1/@wrapup'));
  const { status, messages } = await resumeRun(lead, 'r1', { model: scriptedModel([text('so far')]), journal: cut })
    .result;
  expect(status).toBe('step_limit');
  expect(results(messages)).toHaveLength(1);
});

test('the clock of the machine may go back: times of records still rise', async () => {
  const { tool } = counter('look');
  const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
  const store = journal();
  const model = () => scriptedModel([turn(['look']), text('end')]);
  await runAgent(lead, 'Go', { model: model(), journal: store, runId: 'r1' });
  const ahead = (await rowsOf(store)).map((row) => ({ ...row, time: row.time + 86_400_000_000_000n }));
  const cut = await killedAfter(ahead, 5, { id: 'r1', agent: 'lead' });
  await resumeRun(lead, 'r1', { model: scriptedModel([text('end')]), journal: cut }).result;
  const times = (await rowsOf(cut)).map(({ time }) => time);
  expect(times.length).toBeGreaterThan(8);
  expect(times.every((time, index) => index === 0 || time > (times[index - 1] ?? 0n))).toBe(true);
});

test('a view that was not there before sees what is new, and spans are opened only for what is live', async () => {
  const { tool } = counter('look');
  const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
  const store = journal();
  await runAgent(lead, 'Go', { model: scriptedModel([turn(['look']), text('end')]), journal: store, runId: 'r1' });
  const cut = await killedBefore(store, started('lead/2/model'));
  const opened: string[] = [];
  const ends: string[] = [];
  const view = (record: RunRecord) => {
    if (record.event === 'done' && record.kind !== 'step') ends.push(record.key);
  };
  const instrument = Object.assign(view, {
    start(start: { key: string }) {
      opened.push(start.key);
      return undefined;
    },
  });
  await resumeRun(lead, 'r1', { model: scriptedModel([text('end')]), journal: cut, instrument }).result;
  expect(opened).toEqual(['@run', 'lead', 'lead/2/model']);
  expect(ends).toEqual(['lead/2/model', 'lead', '@run']);
});
