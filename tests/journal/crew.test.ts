import { join } from 'node:path';
import {
  ConfigurationError,
  type RecordStore,
  type RunOptions,
  type RunResult,
  replayRun,
  resumeRun,
  startRun,
  steerRun,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { expect, test } from 'vitest';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { crew, ONCE } from '../crash/crew.ts';
import { folder, journal, leftIn, type StoredRow, throughJson } from '../support/journals.ts';
import { essence } from '../support/prefixes.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing } from '../support/turns.ts';

/** Runs the crew whole; its lead is steered in its second step. */
async function whole(
  store: RecordStore,
  { views = [], steered = true }: { views?: RunOptions['views']; steered?: boolean } = {},
) {
  const outside = join(folder(), 'outside');
  const { lead, model, options, ran } = crew(outside);
  const run = startRun(lead, 'go', { ...options, model, journal: store, runId: 'r1', views });
  run.on('tool.start', ({ name }) => void (steered && name === 'send' && run.steer('lead', 'be quick')));
  const result = await run.result;
  return { result, ran: ran(), lead, rows: (await store.read('r1'))?.rows ?? [] };
}

function check(result: RunResult<unknown>, at: string): void {
  expect(result.status, `${at}: ${result.text}`).toBe('completed');
  expect(JSON.parse(result.text), at).toEqual(ONCE);
  expect(pairing(result.messages), at).toBe('ok');
  expect(result.tree.children.map(({ agent }) => agent).sort(), at).toEqual(['ada', 'bob', 'closer', 'eve', 'eve']);
}

const isIn = (rows: readonly StoredRow[], pattern: RegExp) =>
  rows.some(
    ({ kind, key, value }) => kind === 'once' && key.endsWith('/@inbox') && pattern.test(JSON.stringify(value)),
  );

test.each([
  ['SQLite', journal, (store: RecordStore) => store, 10],
  ['a store that speaks JSON', journal, throughJson, 4],
  ['memory', inMemoryStore, (store: RecordStore) => store, 4],
] as const)(
  'killed after any record, a crew comes to its end and tells everything once (%s)',
  { timeout: 600_000 },
  async (_name, made, as, few) => {
    const { result, rows } = await whole(as(made()));
    check(result, 'never killed');
    for (const count of someNumbers(2, rows.length, few)) {
      const half = await leftIn(made(), rows.slice(0, count), { id: 'r1', agent: 'lead' });
      const at = `after record ${count}: ${rows[count - 1]?.kind} ${rows[count - 1]?.key} ${rows[count - 1]?.event}`;
      // What was said while nobody ran it, unless it had entered.
      const before = rows.slice(0, count);
      const isOver = before.some(({ kind, key, event }) => kind === 'agent' && key === 'lead' && event === 'done');
      if (!isIn(before, /be quick/) && !isOver) await steerRun('r1', 'lead', 'be quick', { journal: half });
      const { lead, model, options, ran } = crew(join(folder(), 'outside'));
      const run = resumeRun(lead, 'r1', { ...options, model, journal: as(half) });
      const diverged: unknown[] = [];
      run.on('run.diverged', ({ key, parts }) => void diverged.push([key, parts]));
      const resumed = await run.result;
      const isUnknown = /whether it took effect is unknown/.test(JSON.stringify(resumed.messages));
      check(resumed, at);
      expect(diverged, at).toEqual([]);
      expect(new Set(ran().map(({ key }) => key)).size, at).toBe(ran().length);
      const ended = before.filter(
        ({ kind, key, event }) => kind === 'tool' && key === 'lead/2.0' && event === 'done',
      ).length;
      expect(ended + ran().filter(({ tool }) => tool === 'send').length + (isUnknown ? 1 : 0), at).toBe(1);
      const keys = (await half.read('r1'))?.rows.map(
        ({ kind, key, event, attempt }) => `${kind} ${key} ${event} ${attempt}`,
      );
      expect(new Set(keys).size, at).toBe(keys?.length);
      half.close();
    }
  },
);

test('killed after any record and steered then, a crew is told once, whoever has the conversation', {
  timeout: 600_000,
}, async () => {
  const { rows } = await whole(journal(), { steered: false });
  for (const count of someNumbers(3, rows.length, 10)) {
    const half = await leftIn(journal(), rows.slice(0, count), { id: 'r1', agent: 'lead' });
    const at = `after record ${count}: ${rows[count - 1]?.kind} ${rows[count - 1]?.key} ${rows[count - 1]?.event}`;
    const isOver = rows
      .slice(0, count)
      .some(({ kind, key, event }) => kind === 'agent' && event === 'done' && /^lead(\/5\.0\/closer)?$/.test(key));
    const steered = steerRun('r1', 'lead', 'be quick', { journal: half });
    await (isOver ? expect(steered, at).rejects.toThrow(ConfigurationError) : steered);
    const { lead, model, options } = crew(join(folder(), 'outside'));
    const resumed = await resumeRun(lead, 'r1', { ...options, model, journal: half }).result;
    expect(JSON.parse(resumed.text), at).toEqual({ ...ONCE, steer: isOver ? 0 : 1 });
    const [told] = resumed.messages.filter(({ content }) => content === 'be quick');
    expect(told, at).toEqual(isOver ? undefined : expect.objectContaining({ role: 'user', from: 'operator' }));
    half.close();
  }
});

const withoutLabels = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (name, item) => (name === 'label' ? undefined : item)));

test('a replay of records, and of a step log, comes to the same', { timeout: 60_000 }, async () => {
  const store = journal();
  const log = join(folder(), 'run.jsonl');
  const { result, ran, lead } = await whole(store, { views: [jsonlLog(log, { content: 'full' })] });
  for (const source of [{ journal: store, runId: 'r1' }, { log }]) {
    const replayed = await replayRun(lead, source).result;
    // Whom the run trusts is an option, which a replay has not.
    expect(withoutLabels(essence(replayed))).toEqual(withoutLabels(essence(result)));
  }
  expect(ran.length).toBeGreaterThan(0);
});

test('a replay up to any record ends there, and rejects nowhere', { timeout: 120_000 }, async () => {
  const store = journal();
  const { rows, lead } = await whole(store);
  for (let record = 2; record <= rows.length; record += 1) {
    const { status } = await replayRun(lead, { journal: store, runId: 'r1' }, { until: { record } }).result;
    expect(
      ['suspended', 'completed'],
      `up to record ${record}: ${rows[record - 1]?.kind} ${rows[record - 1]?.key}`,
    ).toContain(status);
  }
});
