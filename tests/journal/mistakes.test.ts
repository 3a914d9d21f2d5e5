import { rmSync } from 'node:fs';
import {
  ConfigurationError,
  cancelRun,
  decideRun,
  defineAgent,
  defineTool,
  forkRun,
  JournalError,
  pendingRequests,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { journal } from '../support/journals.ts';
import { eventsOf, text, turn } from '../support/turns.ts';

const look = defineTool({ name: 'look', description: 'l', input: z.object({}), access: 'read', execute: () => 1 });
const lead = defineAgent({ name: 'lead', instructions: 'Look.', tools: [look] });
const asks = defineAgent({
  name: 'asks',
  description: 'a procedure that asks',
  input: z.object({}),
  async run(_input, ctx) {
    const { ok } = await ctx.wait('editor', {}, z.object({ ok: z.boolean() }));
    return ok;
  },
});
const ANSWER = { decision: 'answer', value: { ok: true } } as const;

async function done() {
  const store = journal();
  await runAgent(lead, 'Go', { model: scriptedModel([turn(['look']), text('end')]), journal: store, runId: 'r1' });
  return store;
}

describe('what is no journal, run, record or answer is refused by name', () => {
  test.each([
    ['a text', 'runs.db', /^journal: got "runs.db". Pass a journal/],
    ['null', null, /^journal: got null/],
    ['half a store', { create() {} }, /^journal: has no open\(\)/],
  ])('a journal that is %s', async (_what, given, message) => {
    const model = scriptedModel([text('end')]);
    const options = { model, journal: given as never };
    expect(() => startRun(lead, 'Go', options)).toThrow(message);
    expect(() => resumeRun(lead, 'r1', options)).toThrow(ConfigurationError);
    await expect(decideRun('r1', 'x', { decision: 'allow' }, options)).rejects.toThrow(message);
    await expect(cancelRun('r1', options)).rejects.toThrow(message);
    await expect(pendingRequests('r1', options)).rejects.toThrow(message);
  });

  test.each([
    [{}, /^before.key: expected text/],
    [{ record: 0 }, /^before.record: got 0/],
    [{ record: Number.NaN }, /^before.record: got NaN/],
    [{ record: '3' }, /^before.record: got "3"/],
    [{ record: 3, key: 'lead/2/model' }, /^before: has a record and a key/],
    [{ key: 5 }, /^before.key: expected text/],
  ])('a fork before %j', async (before, message) => {
    const store = await done();
    const model = scriptedModel([text('again')]);
    expect(() => forkRun(lead, 'r1', { model, journal: store, before: before as never })).toThrow(message);
  });

  test.each([
    [null, /^edit: expected an object/],
    [{}, /^edit.key: expected text/],
    [{ key: 'lead/1.0' }, /^edit.value: missing/],
    [{ key: 'lead/1.0', value: 1n }, /^edit.value: the result cannot be written as JSON/],
    [{ key: 'lead', value: '' }, /^edit.value: expected text/],
  ])('an edit that is %o', async (edit, message) => {
    const store = await done();
    const options = { model: scriptedModel([text('again')]), journal: store, before: { key: 'lead/2/model' } };
    const fork = async () => forkRun(lead, 'r1', { ...options, edit: edit as never }).result;
    await expect(fork()).rejects.toThrow(message);
    expect(await store.list(), 'nothing was begun').toHaveLength(1);
  });

  test('a replay up to what is not there, or from two places', async () => {
    const store = await done();
    const source = { journal: store, runId: 'r1' };
    await expect(replayRun(lead, source, { until: { key: 'lead/9.9' } }).result).rejects.toThrow(
      /^until: .*no record at/,
    );
    expect(() => replayRun(lead, source, { until: {} as never })).toThrow(/^until.key/);
    expect(() => replayRun(lead, { ...source, log: 'run.jsonl' } as never)).toThrow(/^source: has a journal and a log/);
  });

  test('a run that is over, with another agent', async () => {
    const store = await done();
    await expect(resumeRun(asks, 'r1', { journal: store }).result).rejects.toThrow(
      /^agent: run r1 is of agent lead, not asks/,
    );
  });

  test('a time to prune before that is none', async () => {
    for (const store of [await done(), inMemoryStore()])
      for (const before of ['x', Number.NaN, undefined, new Date()])
        await expect(store.prune(before as never)).rejects.toThrow(/^before: got/);
    const store = await done();
    await expect(store.prune('x' as never)).rejects.toThrow(ConfigurationError);
    expect(await store.list(), 'nothing was removed').toHaveLength(1);
    expect(await store.prune(Number.POSITIVE_INFINITY)).toEqual(['r1']);
  });

  test('an id that would not come back from a file as it was', async () => {
    const agent = defineAgent({
      name: 'flow',
      description: 'd',
      input: z.object({}),
      run: (_input, ctx) => ctx.once('a\ud800', () => 1),
    });
    await expect(runAgent(agent, {}, { journal: journal() })).rejects.toThrow(/^id: illegal id "a\\ud800"/);
  });
});

test('a request that was answered waits no more, also before the run has heard of it', async () => {
  for (const store of [journal(), inMemoryStore()]) {
    expect((await runAgent(asks, {}, { journal: store, runId: 'r1' })).status).toBe('suspended');
    expect(await pendingRequests('r1', { journal: store })).toHaveLength(1);
    await decideRun('r1', 'asks/editor', ANSWER, { journal: store });
    expect(await pendingRequests('r1', { journal: store })).toEqual([]);
    expect((await store.read('r1'))?.answered).toEqual(['asks/editor']);
    await expect(decideRun('r1', 'asks/editor', ANSWER, { journal: store })).rejects.toThrow(/was decided before/);
    expect(await resumeRun(asks, 'r1', { journal: store }).result).toMatchObject({ status: 'completed', output: true });
  }
});

test('the end of a run that was over took no time', async () => {
  const store = await done();
  const run = resumeRun(lead, 'r1', { model: scriptedModel([]), journal: store });
  const [events] = await Promise.all([eventsOf(run), run.result]);
  expect(events).toMatchObject([{ type: 'run.end', durationMs: 0 }]);
});

describe('a file that goes away', () => {
  const flow = (meanwhile: () => unknown) =>
    defineAgent({
      name: 'flow',
      description: 'd',
      input: z.object({}),
      async run(_input, ctx) {
        await ctx.once('a', () => 1);
        await meanwhile();
        await ctx.once('b', () => 2);
        return 'done';
      },
    });

  const remove = (file: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  };

  test('under a run: what it wrote is lost, and it says so', async () => {
    const store = journal();
    await store.list();
    const result = runAgent(
      flow(() => remove(store.file)),
      {},
      { journal: store, runId: 'r1' },
    );
    await expect(result).rejects.toThrow(JournalError);
    await expect(result).rejects.toThrow(/was removed or replaced while run r1 was under way.*is lost/);
  });

  test('between two runs: the next one has what is there now', async () => {
    const store = journal();
    const agent = flow(() => {});
    await runAgent(agent, {}, { journal: store, runId: 'r1' });
    remove(store.file);
    expect(await store.list()).toEqual([]);
    await runAgent(agent, {}, { journal: store, runId: 'r2' });
    expect((await journal(store.file).list()).map(({ id }) => id)).toEqual(['r2']);
  });

  test('closed under a run: it fails, and anybody may go on with it at once', async () => {
    const store = journal();
    const agent = flow(() => store.close());
    await expect(runAgent(agent, {}, { journal: store, runId: 'r1' })).rejects.toThrow(/was closed.*Resume the run/);
    const again = flow(() => {});
    expect(await resumeRun(again, 'r1', { journal: store }).result).toMatchObject({ status: 'completed' });
  });
});
