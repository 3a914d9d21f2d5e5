import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  type Message,
  type RunResult,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { folder, journal, killedAfter, type StoredRow, throughJson } from '../support/journals.ts';
import { essence } from '../support/prefixes.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing, text, turn } from '../support/turns.ts';

let ran: string[] = [];
const dig = defineTool({
  name: 'dig',
  description: 'd',
  input: {},
  access: 'read',
  async execute(_input, { path, idempotencyKey }) {
    await pause(path.endsWith('slow') ? 20 : 1);
    ran.push(idempotencyKey);
    return 'dug';
  },
});
const worker = (name: string) => defineAgent({ name, description: name, instructions: name, tools: [dig] });
const lead = defineSupervisor({
  name: 'lead',
  instructions: 'lead',
  workers: ['quick', 'slow', 'lost'].map(worker),
  tools: [dig],
  background: true,
});
const start = (name: string) => ['start_worker', { worker: name, brief: { task: name } }] as const;

/** Each worker digs twice. Its lead starts four, digs, looks, waits for one, cancels one, and answers too early. */
const model = () =>
  scriptedModel(async ({ messages }, { agent = '' }) => {
    await pause(1);
    const step = messages.filter(({ role }) => role === 'assistant').length;
    if (agent !== 'lead') return step < 2 ? turn(['dig']) : text(`${agent} has dug`);
    switch (step) {
      case 0:
        return turn(start('quick'), start('slow'), start('lost'), start('quick'));
      case 1:
        return turn(['dig'], ['check_workers']);
      case 2:
        return turn(['cancel_worker', { id: '1.2/lost' }], ['wait_for_workers', { timeoutMs: 600_000 }]);
      default:
        return text(`seen ${seen(messages).length}`);
    }
  });

const IDS = ['1.0/quick', '1.1/slow', '1.2/lost', '1.3/quick'];

/** Each time that a worker's result was told. */
function seen(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'user' && message.from !== undefined && message.from !== 'coxswain')
      return [/^Worker (\S+):/.exec(textOf(message.content))?.[1] ?? '?'];
    if (message.role !== 'tool' || message.isError) return [];
    const said = textOf(message.content);
    if (message.name === 'wait_for_workers') return JSON.parse(said).ended.map(({ id }: { id: string }) => id);
    return message.name === 'cancel_worker' ? [JSON.parse(said).id] : [];
  });
}

function check(result: RunResult<unknown>, at: string): void {
  expect(result.status, at).toBe('completed');
  expect(seen(result.messages).sort(), at).toEqual(IDS);
  expect(result.text, at).toBe('seen 4');
  expect(pairing(result.messages), at).toBe('ok');
  expect(
    result.tree.children.map(({ path }) => path),
    at,
  ).toEqual(IDS.map((id) => `lead/${id}`));
}

/** The lead's transcript up to the last turn that an earlier life had: it stands as it was. */
function toldBefore(rows: readonly StoredRow[], whole: readonly Message[]): readonly Message[] {
  const own = ({ kind, key, event }: StoredRow) =>
    kind === 'model' && /^lead\/\d+\/model$/.test(key) && event === 'done';
  let left = rows.filter(own).length;
  if (left === 0) return [];
  const last = whole.findIndex(({ role }) => {
    if (role === 'assistant') left -= 1;
    return left === 0;
  });
  return whole.slice(0, last + 1);
}
const plain = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages).replace(/"c\d+"/g, '"c"'));

describe.each([
  ['SQLite', (store: ReturnType<typeof journal>) => store, 10],
  ['a store that speaks JSON', throughJson, 4],
] as const)('background workers in %s', (_name, as, few) => {
  test('come back once, wherever the process died, and so do their results', { timeout: 120_000 }, async () => {
    const store = journal();
    ran = [];
    const whole = await runAgent(lead, 'go', { model: model(), journal: as(store), runId: 'r1', graceMs: 0 });
    check(whole, 'never killed');
    const rows = (await store.read('r1'))?.rows ?? [];
    const places = new Set<string>();
    for (const count of someNumbers(2, rows.length, few)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const at = `after record ${count}: ${rows[count - 1]?.kind} ${rows[count - 1]?.key} ${rows[count - 1]?.event}`;
      ran = [];
      const run = resumeRun(lead, 'r1', { model: model(), journal: as(half), graceMs: 0 });
      const diverged: unknown[] = [];
      run.on('run.diverged', (event) => void diverged.push(event.key));
      const resumed = await run.result;
      check(resumed, at);
      expect(diverged, at).toEqual([]);
      expect(new Set(ran).size, at).toBe(ran.length);
      const before = toldBefore(rows.slice(0, count), whole.messages);
      expect(plain(resumed.messages.slice(0, before.length)), at).toEqual(plain(before));
      const keys = (await half.read('r1'))?.rows.map(
        ({ kind, key, event, attempt }) => `${kind} ${key} ${event} ${attempt}`,
      );
      expect(new Set(keys).size, at).toBe(keys?.length);
      // And all of that again, from where this life left it.
      expect(essence(await resumeRun(lead, 'r1', { model: model(), journal: half }).result), at).toEqual(
        essence(resumed),
      );
      for (const key of keys ?? []) if (key.includes('@inbox')) places.add(key);
      half.close();
    }
    expect(places.size).toBeGreaterThan(0);
  });
});

test('a replay of records, and of a step log, gives results where they were given', async () => {
  const store = journal();
  const log = join(folder(), 'run.jsonl');
  const whole = await runAgent(lead, 'go', {
    model: model(),
    journal: store,
    runId: 'r1',
    graceMs: 0,
    views: [jsonlLog(log, { content: 'full' })],
  });
  ran = [];
  for (const source of [{ journal: store, runId: 'r1' }, { log }]) {
    const replayed = await replayRun(lead, source).result;
    expect(plain(replayed.messages)).toEqual(plain(whole.messages));
    expect(replayed.usage).toEqual(whole.usage);
  }
  expect(ran).toEqual([]);
});

test('a run that parks with workers that wait goes on with them, and its supervisor hears no end that is none', async () => {
  const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
  const asks = defineSupervisor({
    name: 'lead',
    instructions: 'l',
    workers: [defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [send] })],
    background: true,
  });
  for (const how of ['waits', 'answers'] as const) {
    const store = journal();
    const script = () =>
      scriptedModel(({ messages }, { agent }) => {
        const step = messages.filter(({ role }) => role === 'assistant').length;
        if (agent === 'ada') return step === 0 ? turn(['send']) : text('ada sent it');
        if (step === 0) return turn(['start_worker', { worker: 'ada', brief: 'x' }]);
        if (step === 1) return how === 'waits' ? turn(['wait_for_workers']) : text('early');
        return text(JSON.stringify(messages));
      });
    const parked = await runAgent(asks, 'go', { model: script(), journal: store, runId: 'r1' });
    expect(parked).toMatchObject({ status: 'suspended', pending: [{ id: 'lead/1.0/ada/1.0/@approval' }] });
    const again = await resumeRun(asks, 'r1', { model: script(), journal: store }).result;
    expect(again.status).toBe('suspended');
    await store.signal('r1', { kind: 'decision', id: 'lead/1.0/ada/1.0/@approval', decision: { decision: 'allow' } });
    const result = await resumeRun(asks, 'r1', { model: script(), journal: store }).result;
    expect(result.status).toBe('completed');
    expect(result.text).toContain('ada sent it');
    expect(result.text).not.toContain('suspended');
    expect(pairing(result.messages)).toBe('ok');
  }
});

test('a supervisor that ended on a limit goes on where that is larger; workers that were stopped stay stopped', async () => {
  const store = journal();
  const hang = defineTool({
    name: 'hang',
    description: 'h',
    input: {},
    access: 'read',
    execute: () => new Promise(() => {}),
  });
  const make = (steps: number) =>
    defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [hang] })],
      tools: [dig],
      background: true,
      limits: { steps },
    });
  const script = () =>
    scriptedModel(({ messages, toolChoice }, { agent }) => {
      if (agent === 'ada') return turn(['hang']);
      if (toolChoice === 'none') return text('wrapped');
      const step = messages.filter(({ role }) => role === 'assistant').length;
      return step === 0
        ? turn(['start_worker', { worker: 'ada', brief: 'x' }])
        : step === 1
          ? turn(['dig'])
          : text(JSON.stringify(seen(messages)));
    });
  const first = await runAgent(make(2), 'go', { model: script(), journal: store, runId: 'r1', graceMs: 0 });
  expect(first).toMatchObject({ status: 'step_limit', text: 'wrapped' });
  const run = resumeRun(make(4), 'r1', { model: script(), journal: store, graceMs: 0 });
  const started: string[] = [];
  run.on('tool.start', ({ key }) => void started.push(key));
  expect(await run.result).toMatchObject({ status: 'completed', text: '["1.0/ada"]' });
  expect(started).toEqual([]);
});

test('a wait’s time is over where it passed while nobody ran it', async () => {
  const store = journal();
  const held = defineTool({
    name: 'hang',
    description: 'h',
    input: {},
    access: 'read',
    execute: () => new Promise(() => {}),
  });
  const slow = defineSupervisor({
    name: 'lead',
    instructions: 'l',
    workers: [defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [held] })],
    background: true,
  });
  const script = () =>
    scriptedModel(({ messages }, { agent }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'ada') return turn(['hang']);
      return step === 0
        ? turn(['start_worker', { worker: 'ada', brief: 'x' }])
        : step === 1
          ? turn(['wait_for_workers', { timeoutMs: 150 }])
          : turn(['cancel_worker', { id: '1.0/ada' }]);
    });
  const run = startRun(slow, 'go', { model: script(), journal: store, runId: 'r1', graceMs: 0, limits: { steps: 4 } });
  await new Promise<void>((resolve) =>
    run.on('tool.start', ({ name }) => void (name === 'wait_for_workers' && resolve())),
  );
  const rows = (await store.read('r1'))?.rows ?? [];
  await run.cancel();
  const until = rows.findIndex(({ key }) => key.endsWith('/@until'));
  const half = await killedAfter(rows, until + 1, { id: 'r1', agent: 'lead' });
  await pause(200);
  const since = performance.now();
  const { messages } = await resumeRun(slow, 'r1', { model: script(), journal: half, graceMs: 0 }).result;
  expect(performance.now() - since).toBeLessThan(140);
  expect(JSON.stringify(messages)).toContain('None of them has ended in this time.');
});
