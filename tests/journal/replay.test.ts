import { join } from 'node:path';
import {
  DivergenceError,
  defineAgent,
  defineTool,
  type ForkOptions,
  forkRun,
  ModelError,
  type ModelTurn,
  type ProcedureContext,
  type Run,
  type RunEvent,
  type RunRecord,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { executions, voyage } from '../crash/voyage.ts';
import { folder, journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { eventsOf, results, text, turn } from '../support/turns.ts';

function team() {
  const outside = join(folder(), 'outside');
  return { outside, ...voyage(outside, 'retry') };
}

/** Of a replay's events only the handle's own count differs, where chunks were shown among them. */
function shape({ seq: _seq, ...event }: RunEvent): object {
  return event;
}

const without = (events: readonly RunEvent[]) =>
  events.filter(({ type }) => type !== 'model.delta' && type !== 'tool.progress').map(shape);

describe('a replay', () => {
  test('gives the same events and the same result, and nothing happens', async () => {
    const store = journal();
    const { lead, model, options } = team();
    const live = startRun(lead, 'Sail', { ...options, model, journal: store, runId: 'r1' });
    const [events, result] = await Promise.all([eventsOf(live), live.result]);
    const again = team();
    const records: RunRecord[] = [];
    const replay = replayRun(
      again.lead,
      { journal: store, runId: 'r1' },
      { views: [(record) => records.push(record)] },
    );
    const [shown, replayed] = await Promise.all([eventsOf(replay), replay.result]);
    expect(without(shown)).toEqual(without(events));
    expect(replayed).toEqual({ ...result, traceId: replayed.traceId });
    expect(executions(again.outside)).toEqual([]);
    expect(records.map(({ record }) => record)).toEqual(records.map(({ record }) => record).toSorted((a, b) => a - b));
    expect((await store.read('r1'))?.epoch, 'nothing was written').toBe(1);
  });

  test('shows retries, failures, refusals, approvals, limits and loops as they were', async () => {
    let count = 0;
    const flaky = defineTool({
      name: 'flaky',
      description: 'f',
      input: z.object({}),
      access: 'read',
      repeatable: true,
      execute() {
        count += 1;
        if (count % 2) throw new Error('odd');
        return count;
      },
    });
    const send = defineTool({
      name: 'send',
      description: 's',
      input: z.object({ to: z.string() }),
      access: 'send',
      execute: () => 'sent',
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [flaky, send], limits: { steps: 3 } });
    const busy = new ModelError('rate_limit', 'slow down', { retryAfterMs: 1 });
    const turns = [
      busy,
      turn(['flaky'], ['none'], ['flaky', '{']),
      turn(['send', { to: 'a' }], ['send', { to: 'b' }]),
      turn(['flaky']),
      text('what I have'),
    ];
    const store = journal();
    const approve = ({ args }: { args: unknown }) => ({
      decision: (args as { to: string }).to === 'a' ? ('allow' as const) : ('deny' as const),
    });
    const model = scriptedModel(turns, { retry: { baseMs: 1 } });
    const live = startRun(lead, 'Go', { model, journal: store, runId: 'r1', approve });
    const [events, result] = await Promise.all([eventsOf(live), live.result]);
    expect(result.status).toBe('step_limit');
    const replay = replayRun(lead, { journal: store, runId: 'r1' });
    const [shown, replayed] = await Promise.all([eventsOf(replay), replay.result]);
    expect(without(shown)).toEqual(without(events));
    expect(new Set(shown.map(({ type }) => type))).toContain('model.retry');
    expect(replayed).toEqual({ ...result, traceId: replayed.traceId });
  });

  test.each(['cancelled', 'timeout', 'aborted'] as const)('of a run that was %s ends so', async (status) => {
    const tool = defineTool({ name: 'look', description: 'l', input: z.object({}), access: 'read', execute: () => 1 });
    const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [tool] });
    const store = journal();
    const controller = new AbortController();
    const model = scriptedModel([turn(['look']), () => new Promise<never>(() => {})]);
    const limits = status === 'timeout' ? { timeMs: 60 } : {};
    const run = startRun(lead, 'Go', {
      model,
      journal: store,
      runId: 'r1',
      graceMs: 0,
      limits,
      signal: controller.signal,
    });
    run.on('tool.end', () => {
      if (status === 'cancelled') void run.cancel();
      if (status === 'aborted') controller.abort();
    });
    const { messages } = await run.result;
    expect(await replayRun(lead, { journal: store, runId: 'r1' }).result).toMatchObject({ status, messages });
  });

  test('of a run that is not over is suspended where the records end; until stops earlier', async () => {
    const store = journal();
    const { lead, model, options } = team();
    await runAgent(lead, 'Sail', { ...options, model, journal: store, runId: 'r1' });
    const rows = (await store.read('r1'))?.rows ?? [];
    for (const count of [1, 4, 30, 60, 100, rows.length - 5]) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const again = team();
      const { status } = await replayRun(again.lead, { journal: half, runId: 'r1' }).result;
      expect(status, `after ${count}: ${rows[count - 1]?.key}`).toBe('suspended');
      expect(executions(again.outside)).toEqual([]);
    }
    const again = team();
    const run = replayRun(again.lead, { journal: store, runId: 'r1' }, { until: { key: 'lead/1/model' } });
    const [events, result] = await Promise.all([eventsOf(run), run.result]);
    expect(result.status).toBe('suspended');
    expect(events.at(-2)?.key).not.toContain('scout');
    expect(events.filter(({ type }) => type === 'model.end')).toHaveLength(1);
    const record = rows.find(({ kind, event }) => kind === 'tool' && event === 'done')?.record ?? 0;
    const upTo = replayRun(team().lead, { journal: store, runId: 'r1' }, { until: { record } });
    const shown = (await eventsOf(upTo)).flatMap((event) => event.record ?? []);
    expect(Math.max(...shown)).toBe(record);
  });

  test('of a procedure does not sleep, draw or ask anew', async () => {
    let drawn = 0;
    const flow = defineAgent({
      name: 'flow',
      description: 'code',
      async run(_input, ctx) {
        const first = await ctx.once('first', () => ++drawn);
        await ctx.sleep(500);
        return `${first} ${await ctx.once('second', () => ++drawn)} ${await ctx.random()}`;
      },
    });
    const store = journal();
    const live = await runAgent(flow, { task: 'Go' }, { journal: store, runId: 'r1' });
    const rows = (await store.read('r1'))?.rows ?? [];
    expect((await replayRun(flow, { journal: store, runId: 'r1' }).result).text).toBe(live.text);
    for (const count of someNumbers(2, rows.length - 3, 6)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'flow' });
      const since = performance.now();
      expect(
        (await replayRun(flow, { journal: half, runId: 'r1' }).result).status,
        `${count} ${rows[count - 1]?.key}`,
      ).toBe('suspended');
      expect(performance.now() - since).toBeLessThan(490);
      half.close();
    }
    expect(drawn).toBe(2);
  });

  test('stops at every difference', async () => {
    const look = defineTool({ name: 'look', description: 'l', input: z.object({}), access: 'read', execute: () => 1 });
    const base = { name: 'lead', instructions: 'Do it.', tools: [look] };
    const store = journal();
    await runAgent(defineAgent(base), 'Go', {
      model: scriptedModel([turn(['look']), text('end')]),
      journal: store,
      runId: 'r1',
    });
    const edits: [Partial<typeof base>, string, string][] = [
      [{ instructions: 'Do more.' }, 'lead/1/model', 'instructions'],
      [{ tools: [] }, 'lead/1/model', 'tools'],
    ];
    for (const [edit, key, part] of edits) {
      const error = await replayRun(defineAgent({ ...base, ...edit }), { journal: store, runId: 'r1' }).result.catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(DivergenceError);
      expect(error).toMatchObject({ key, parts: [part] });
    }
    await expect(replayRun(defineAgent(base), { journal: store, runId: 'r2' }).result).rejects.toThrow(/runId/);
    const changed = replayRun(defineAgent({ ...base, instructions: 'Do more.' }), { journal: store, runId: 'r1' });
    const shown = await eventsOf(changed);
    expect(shown.map(({ type }) => type)).toEqual(['run.start', 'agent.start', 'step.start', 'run.end']);
    expect(shown.at(-1)).toMatchObject({ status: 'failed' });
  });
});

describe('a fork', () => {
  async function whole() {
    const store = journal();
    const first = team();
    const result = await runAgent(first.lead, 'Sail', {
      ...first.options,
      model: first.model,
      journal: store,
      runId: 'r1',
    });
    return { store, result, rows: (await store.read('r1'))?.rows ?? [] };
  }

  test('before any record comes to the same end, under its own keys, and leaves its origin as it was', {
    timeout: 120_000,
  }, async () => {
    const { store, result, rows } = await whole();
    const before = JSON.stringify(await store.read('r1'), (_name, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    for (let record = 2; record <= rows.length; record += 5) {
      const { lead, model, options, outside } = team();
      const run = forkRun(lead, 'r1', { ...options, model, journal: store, before: { record }, runId: `f${record}` });
      const forked = await run.result;
      const at = `before ${record}: ${rows[record - 1]?.key}`;
      expect(forked, at).toMatchObject({ status: 'completed', runId: `f${record}` });
      expect(forked.text.replace(/0\.\d+/g, 'n'), at).toBe(result.text.replace(/0\.\d+/g, 'n'));
      expect({ usage: forked.usage, steps: forked.steps, toolCalls: forked.toolCalls }, at).toEqual({
        usage: result.usage,
        steps: result.steps,
        toolCalls: result.toolCalls,
      });
      const ran = executions(outside);
      expect(new Set(ran.map(({ key }) => key)).size, at).toBe(ran.length);
    }
    const after = JSON.stringify(await store.read('r1'), (_name, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(after).toBe(before);
  });

  test('has new idempotency keys, names its origin, and can be resumed and replayed by itself', async () => {
    const { store, rows } = await whole();
    const cut = rows.findIndex(({ key, event }) => key === 'lead/2.0' && event === 'started') + 1;
    const { lead, model, options, outside } = team();
    const records: RunRecord[] = [];
    const run = forkRun(lead, 'r1', {
      ...options,
      model,
      journal: store,
      before: { record: cut },
      views: [(record) => records.push(record)],
    });
    await run.result;
    const original = new Set(rows.map(() => ''));
    expect(original.size).toBe(1);
    expect(executions(outside).map(({ tool }) => tool)).toEqual(['publish']);
    const begun = records.find(({ kind, event }) => kind === 'run' && event === 'started');
    expect(begun?.request).toMatchObject({ forkedFrom: 'r1' });
    expect((await store.list()).find(({ id }) => id === run.id)).toMatchObject({
      forkedFrom: 'r1',
      status: 'completed',
    });
    const again = team();
    expect((await replayRun(again.lead, { journal: store, runId: run.id }).result).status).toBe('completed');
    expect(
      (await resumeRun(again.lead, run.id, { ...again.options, model: again.model, journal: store }).result).status,
    ).toBe('completed');
  });

  const look = defineTool({
    name: 'look',
    description: 'l',
    input: z.object({ q: z.string() }),
    access: 'read',
    repeatable: true,
    execute: ({ q }) => `saw ${q}`,
  });
  const lead = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [look] });
  async function small() {
    const store = journal();
    await runAgent(lead, 'Go', {
      model: scriptedModel([turn(['look', { q: 'a' }]), turn(['look', { q: 'b' }]), text('end')]),
      journal: store,
      runId: 'r1',
    });
    return store;
  }
  async function forked(before: ForkOptions['before'], edit: ForkOptions['edit'], turns: (ModelTurn | string)[]) {
    const model = scriptedModel(turns);
    const store = await small();
    const run: Run<string> = forkRun(lead, 'r1', { model, journal: store, before, edit });
    return { result: await run.result, model, store };
  }

  test('with another model turn', async () => {
    const other = turn(['look', { q: 'z' }]);
    const { result } = await forked({ key: 'lead/1.0' }, { key: 'lead/1/model', value: other }, ['end']);
    expect(results(result.messages).map((one) => one.text)).toEqual(['saw z']);
    const said = await forked({ key: 'lead/1.0' }, { key: 'lead/1/model', value: 'I stop here.' }, []);
    expect(said.result).toMatchObject({ status: 'completed', text: 'I stop here.' });
    await expect(forked({ key: 'lead/1.0' }, { key: 'lead/1/model', value: { content: 'x' } }, [])).rejects.toThrow(
      /edit\.value/,
    );
  });

  test('with another tool result', async () => {
    const { result, model } = await forked({ key: 'lead/2/model' }, { key: 'lead/1.0', value: 'saw land' }, ['end']);
    expect(results(result.messages).map((one) => one.text)).toEqual(['saw land']);
    expect(model.requests).toHaveLength(1);
    const data = await forked({ key: 'lead/2/model' }, { key: 'lead/1.0', value: { land: true } }, ['end']);
    expect(results(data.result.messages)[0]?.text).toBe('{"land":true}');
  });

  test('with another first message', async () => {
    const { result, model } = await forked({ key: 'lead/1/model' }, { key: 'lead', value: 'Go back' }, ['end']);
    expect(result.messages[0]).toMatchObject({ role: 'user', content: 'Go back' });
    expect(model.requests[0]?.messages).toMatchObject([{ content: 'Go back' }]);
  });

  test('does not spend what it inherits', async () => {
    const store = await small();
    const model = scriptedModel([text('end')]);
    const settings = { maxOutputTokens: 20 };
    const frugal = defineAgent({ name: 'lead', instructions: 'Do it.', tools: [look], settings });
    const fork = forkRun(frugal, 'r1', {
      model,
      journal: store,
      before: { key: 'lead/3/model' },
      limits: { tokens: 200 },
      runId: 'f1',
    });
    expect(await fork.result).toMatchObject({ status: 'completed', usage: { inputTokens: 30 } });
  });

  test('names what it cannot do', async () => {
    const store = await small();
    const model = scriptedModel([]);
    const options = { model, journal: store };
    await expect(forkRun(lead, 'r1', { ...options, before: { record: 1 } }).result).rejects.toThrow(
      /^before: .*first is never left out/,
    );
    await expect(forkRun(lead, 'r1', { ...options, before: { record: 999 } }).result).rejects.toThrow(/^before/);
    await expect(forkRun(lead, 'r1', { ...options, before: { key: 'lead/9/model' } }).result).rejects.toThrow(
      /^before/,
    );
    await expect(
      forkRun(lead, 'r1', { ...options, before: { key: 'lead/2/model' }, edit: { key: 'lead/2.0', value: 1 } }).result,
    ).rejects.toThrow(/^edit\.key/);
    const model2 = { key: 'lead/2/model' };
    const done = (await store.read('r1'))?.rows.find(
      ({ key, event }) => key === model2.key && event === 'done',
    )?.record;
    await expect(
      forkRun(lead, 'r1', { ...options, before: model2, edit: { ...model2, value: 'x' } }).result,
    ).rejects.toThrow(`It is record ${done}: cut after it, at { record: ${Number(done) + 1} } or later`);
    await expect(forkRun(lead, 'none', { ...options, before: { record: 2 } }).result).rejects.toThrow(/^runId/);
    await expect(forkRun(lead, 'r1', { ...options, before: { record: 2 }, runId: 'r1' }).result).rejects.toThrow(
      /^runId: the run r1 exists/,
    );
    expect((await store.list()).map(({ id }) => id)).toEqual(['r1']);
  });
});

test('a procedure that reads deps is replayed with the deps that it is given', async () => {
  const store = journal();
  const greeter = defineAgent({
    name: 'greeter',
    description: 'Greets',
    run: async (_input: { task: string }, ctx: ProcedureContext<{ name: string }>) => `Ahoy, ${ctx.deps.name}`,
  });
  const { runId, text } = await runAgent(greeter, { task: 'greet' }, { journal: store, deps: { name: 'Ann' } });
  const again = await replayRun(greeter, { journal: store, runId }, { deps: { name: 'Ann' } }).result;
  expect(again).toMatchObject({ status: 'completed', text });
});
