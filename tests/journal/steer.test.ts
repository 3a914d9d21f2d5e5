import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  type Message,
  type RecordStore,
  replayRun,
  resumeRun,
  type runAgent,
  startRun,
  steerRun,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { folder, journal, killedAfter, throughJson } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { eventsOf, gate, text, turn } from '../support/turns.ts';

/** Each call takes a turn of the event loop or two, as real ones do: time for its start to be committed, shown and answered. */
const work = defineTool({
  name: 'work',
  description: 'w',
  input: z.object({ n: z.number() }),
  access: 'read',
  execute: async ({ n }) => {
    await pause(5);
    return `did ${n}`;
  },
});
const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [work] });
const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [ada], tools: [work, send] });

/** A lead that works three times, delegates, and says all it was told; a worker that works once. */
const model = () =>
  scriptedModel(async ({ messages }, { agent }) => {
    await pause(2);
    const step = messages.filter(({ role }) => role === 'assistant').length;
    if (agent === 'ada') return step === 0 ? turn(['work', { n: 9 }]) : text(`ada: ${steers(messages)}`);
    if (step < 3) return turn(['work', { n: step }]);
    return step === 3 ? turn(['delegate_ada', { task: 'x' }]) : text(`lead: ${steers(messages)}`);
  });
const steers = (messages: readonly Message[]) =>
  messages.flatMap((message) => ('from' in message && message.from === 'operator' ? [message.content] : [])).join(', ');
const plain = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages).replace(/"c\d+"/g, '"c"'));

/** Steers the lead in its second step, its worker in its first, and the lead once more when that has ended. */
async function steered(store: RecordStore, views: Parameters<typeof runAgent>[2] = {}) {
  const run = startRun(lead, 'go', { ...views, model: model(), journal: store, runId: 'r1' });
  run.on('tool.start', ({ key }) => {
    if (key === 'lead/2.0') run.steer('lead', 'one');
    if (key === 'lead/4.0/ada/1.0') run.steer('lead/4.0/ada', 'two');
  });
  // The lead's last answer is under way.
  run.on('model.start', ({ key }) => void (key === 'lead/5/model' && run.steer('lead', 'three')));
  return run.result;
}

/** A store, and the same file opened by another process. */
const STORES: readonly [string, (store: RecordStore) => RecordStore][] = [
  ['SQLite', (store) => store],
  ['a store that speaks JSON', throughJson],
];

describe.each(STORES)('a steer in %s', (_name, as) => {
  test('enters once and at the same place, wherever the process died', { timeout: 60_000 }, async () => {
    const store = as(journal());
    const whole = await steered(store);
    expect(whole.text).toBe('lead: one, three');
    expect(plain(whole.messages).at(-2)).toMatchObject({ role: 'user', content: 'three', from: 'operator' });
    const rows = (await store.read('r1'))?.rows ?? [];
    const entered = rows.flatMap(({ key }, index) => (key.endsWith('/@inbox') ? [index] : []));
    expect(entered).toHaveLength(3);
    for (const count of someNumbers((entered.at(-1) ?? 0) + 1, rows.length, 6)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const resumed = await resumeRun(lead, 'r1', { model: model(), journal: half }).result;
      expect(plain(resumed.messages), `after ${count}`).toEqual(plain(whole.messages));
      half.close();
    }
  });

  test('that had not entered when the process died enters after the resume, once', async () => {
    const store = as(journal());
    const asked = gate();
    const slow = scriptedModel(() => new Promise(() => asked.open()));
    const first = startRun(lead, 'go', { model: slow, journal: store, runId: 'r1' });
    await asked.promise;
    const kept = first.steer('lead', 'kept');
    void kept.catch(() => {});
    await pause(20);
    // Another life of the process.
    const second = resumeRun(lead, 'r1', { model: model(), journal: store, takeover: true });
    const { text: said } = await second.result;
    expect(said).toBe('lead: kept');
    const third = await resumeRun(lead, 'r1', { model: model(), journal: store }).result;
    expect(third.text).toBe('lead: kept');
  });

  test('of another process reaches one that is at work', async () => {
    const inner = journal();
    const store = as(inner);
    const hold = gate();
    const held = defineTool({
      name: 'work',
      description: 'w',
      input: z.object({ n: z.number() }),
      access: 'read',
      execute: () => hold.promise,
    });
    const solo = defineAgent({ name: 'lead', instructions: 'l', tools: [held] });
    const run = startRun(solo, 'go', {
      model: scriptedModel(async ({ messages }) => {
        await pause(20);
        return messages.length === 1 ? turn(['work', { n: 1 }]) : text(`told: ${steers(messages)}`);
      }),
      journal: store,
      runId: 'r1',
    });
    await new Promise<void>((resolve) => run.on('tool.start', () => resolve()));
    await pause(20);
    await steerRun('r1', 'lead', 'from afar', { journal: as(journal(inner.file)) });
    hold.open();
    // Heard with the records of this step, while the next answer is under way, which is then not the last.
    const ended = await run.result;
    expect(ended.text).toBe('told: from afar');
  });
});

test('a steer given in the tick of resumeRun counts, also for a worker that is not there yet', async () => {
  const store = journal();
  await steered(store);
  const rows = (await store.read('r1'))?.rows ?? [];
  const cut = rows.findIndex(({ key, event }) => key === 'lead/4.0/ada/1/model' && event === 'done');
  const half = await killedAfter(rows, cut, { id: 'r1', agent: 'lead' });
  const run = resumeRun(lead, 'r1', { model: model(), journal: half });
  const entered = run.steer('lead/4.0/ada', 'early');
  const refused = run.steer('lead/7.0/nobody', 'lost');
  await expect(refused).rejects.toThrow(/there is no lead\/7.0\/nobody/);
  await entered;
  const { messages } = await run.result;
  expect(JSON.stringify(messages)).toContain('ada: early');
});

test('a suspended run keeps what it was told, and a later process tells it more', async () => {
  const store = journal();
  const asking = scriptedModel(({ messages }) => (messages.length === 1 ? turn(['send']) : text(steers(messages))));
  const solo = defineAgent({ name: 'lead', instructions: 'l', tools: [send] });
  const run = startRun(solo, 'go', { model: asking, journal: store, runId: 'r1' });
  let kept = Promise.resolve();
  run.on('approval.request', () => {
    kept = run.steer('lead', 'one');
  });
  expect((await run.result).status).toBe('suspended');
  await kept;
  await steerRun('r1', 'lead', 'two', { journal: journal(store.file) });
  await store.signal('r1', { kind: 'decision', id: 'lead/1.0/@approval', decision: { decision: 'allow' } });
  expect((await resumeRun(solo, 'r1', { model: asking, journal: store }).result).text).toBe('one, two');
  await expect(steerRun('r1', 'lead', 'three', { journal: store })).rejects.toThrow(
    /status: run r1 is over: completed/,
  );
});

test('steerRun refuses what it knows to be wrong', async () => {
  const store = journal();
  const log = await store.create({ id: 'r1', agent: 'lead' });
  await expect(steerRun('none', 'lead', 'x', { journal: store })).rejects.toThrow(/runId: there is no run "none"/);
  await expect(steerRun('r1', 'lead/1.0/x', 'x', { journal: store })).rejects.toThrow(/path: there is no lead\/1.0\/x/);
  await expect(steerRun('r1', 'lead', '', { journal: store })).rejects.toThrow(/message: empty/);
  log.abandon();
});

test('a replay of records, and of a step log, shows it where it was', async () => {
  const store = journal();
  const log = join(folder(), 'run.jsonl');
  const whole = await steered(store, { views: [jsonlLog(log, { content: 'full' })] });
  for (const source of [{ journal: store, runId: 'r1' }, { log }]) {
    const replay = replayRun(lead, source);
    const events = await eventsOf(replay);
    expect(plain((await replay.result).messages)).toEqual(plain(whole.messages));
    const arrived = events.flatMap((event) => (event.type === 'step.start' ? (event.arrived ?? []) : []));
    expect(arrived.map(({ content }) => content)).toEqual(['one', 'two', 'three']);
    expect(() => replay.steer('lead', 'x')).toThrow(/run is over/);
  }
});
