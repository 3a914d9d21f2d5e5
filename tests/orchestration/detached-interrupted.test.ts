import {
  type DetachedChild,
  type DetachedOutcome,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type RecordStore,
  replayRun,
  resumeRun,
  runAgent,
  runDetached,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Interruptions } from '../../src/orchestration/detached/drive-detached.ts';
import { journal } from '../support/journals.ts';
import { results, text, turn } from '../support/turns.ts';

const usage = { modelCalls: 4, inputTokens: 40, outputTokens: 20 };
const ask = () => turn(['delegate_worker', { task: 'Go' }]);

/** A team whose worker runs in other processes, which share a journal of theirs: `each` is what they do with each call. */
function team(
  each: (call: number, run: (signal: AbortSignal) => Promise<DetachedOutcome>) => Promise<DetachedOutcome>,
) {
  const shutdown = new AbortController();
  const looking = Promise.withResolvers<void>();
  let looks = 0;
  const look = defineTool({
    name: 'look',
    description: 'Looks; the first time until its process is shut down',
    input: z.object({}),
    access: 'read',
    execute: (_, { signal }) => {
      looks += 1;
      if (looks > 1) return 'seen';
      looking.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [look] });
  const delegated = delegate(worker, { detached: true, limits: { tokens: 20_000 } });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [delegated] });
  const there = journal();
  const model = scriptedModel(({ messages }) => (messages.length > 1 ? text('done') : turn(['look'])));
  const calls: DetachedChild[] = [];
  const here = journal();
  const store: RecordStore = Object.assign(here, {
    runDetached: (child: DetachedChild, signal: AbortSignal) => {
      calls.push(child);
      return each(calls.length, (stop) =>
        runDetached([worker], child, {
          journal: there,
          model,
          signal: AbortSignal.any([signal, stop]),
        }),
      );
    },
  });
  return { lead, store, calls, shutdown, looking: looking.promise };
}

/** The interruption is on record, and it is not taken up again yet. */
async function waitsToGoOn(store: RecordStore): Promise<void> {
  const deadline = async () => (await store.read('r1'))?.rows.some(({ key }) => key.endsWith('/@again/@deadline'));
  await expect.poll(deadline, { interval: 10 }).toBe(true);
}

test('a detached worker whose process shuts down goes on, and is never told to be cancelled', async () => {
  const { lead, store, calls, shutdown, looking } = team((call, run) =>
    run(call === 1 ? shutdown.signal : new AbortController().signal),
  );
  void looking.then(() => shutdown.abort());
  const model = scriptedModel({ lead: [ask(), text('all done')] });
  const result = await runAgent(lead, 'Go', { model, journal: store, runId: 'r1' });
  expect([result.status, results(result.messages)]).toEqual(['completed', [{ text: 'done', isError: false }]]);
  expect(calls.map(({ run }) => run)).toEqual([calls[0]?.run, calls[0]?.run]);
  expect(result.usage).toMatchObject(usage);
  expect(result.tree.children[0]?.status).toBe('completed');
  const again = await replayRun(lead, { journal: store, runId: 'r1' }).result;
  expect([again.status, again.messages, again.usage]).toEqual([result.status, result.messages, result.usage]);
});

test('another process goes on with it, where that of its supervisor ended before', async () => {
  const stop = new AbortController();
  const { lead, store, calls, shutdown, looking } = team((call, run) =>
    run(call === 1 ? shutdown.signal : new AbortController().signal),
  );
  void looking.then(() => shutdown.abort());
  const first = scriptedModel({ lead: [ask()] });
  const { result: cut } = startRun(lead, 'Go', { model: first, journal: store, runId: 'r1', signal: stop.signal });
  await waitsToGoOn(store);
  stop.abort();
  expect([(await cut).status, calls.length]).toEqual(['aborted', 1]);
  const model = scriptedModel({ lead: [text('all done')] });
  const result = await resumeRun(lead, 'r1', { model, journal: store }).result;
  expect([result.status, results(result.messages), result.usage]).toMatchObject([
    'completed',
    [{ text: 'done', isError: false }],
    usage,
  ]);
});

test('a cancel in its supervisor ends it also while it is interrupted', async () => {
  const { lead, store, looking, shutdown } = team((_call, run) => run(shutdown.signal));
  void looking.then(() => shutdown.abort());
  const model = scriptedModel({ lead: [ask(), text('all done')] });
  const run = startRun(lead, 'Go', { model, journal: store, runId: 'r1' });
  await waitsToGoOn(store);
  await run.cancel('lead/1.0/worker', 'enough');
  const result = await run.result;
  const told = [{ text: 'cancelled: enough', isError: true }];
  expect([result.status, results(result.messages)]).toEqual(['completed', told]);
  const again = await replayRun(lead, { journal: store, runId: 'r1' }).result;
  expect([again.status, results(again.messages), again.usage]).toEqual([result.status, told, result.usage]);
});

test('one that is interrupted time and again without getting on is given up after about two minutes', () => {
  const interruptions = new Interruptions();
  const before = { steps: 1, toolCalls: 0 };
  expect(interruptions.pauseMs(before)).toBe(250);
  expect(interruptions.pauseMs(before)).toBe(500);
  // A step further it counts anew.
  const later = { steps: 2, toolCalls: 0 };
  const pauses = Array.from({ length: 11 }, () => interruptions.pauseMs(later));
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, undefined]);
  // What began anew, since its process kept nothing, has not got on.
  expect(interruptions.pauseMs(before)).toBeUndefined();
});
