import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RecordStore, type RunEvent, type RunRecord, replayRun, resumeRun, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { describe, expect, test } from 'vitest';
import { voyage } from '../crash/voyage.ts';
import { folder, journal, killedAfter, throughJson } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';

interface Line {
  path: string;
  step: number;
  event: 'start' | 'end';
  usage?: { inputTokens: number; outputTokens: number };
  [name: string]: unknown;
}

function lines(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** The same run however its branches interleaved: by address. */
function byAddress(records: readonly RunRecord[]): string[] {
  return records.map(({ kind, key, event }) => `${kind} ${key} ${event}`).toSorted();
}

function team() {
  return voyage(join(folder(), 'outside'), 'retry');
}

describe('what was shown is not shown again', () => {
  test('the records of all lives together are those of a run that was not killed, each once', {
    timeout: 60_000,
  }, async () => {
    const store = journal();
    const whole: RunRecord[] = [];
    const { lead, model, options } = team();
    await runAgent(lead, 'Sail', {
      ...options,
      model,
      journal: store,
      runId: 'r1',
      views: [(record) => whole.push(record)],
    });
    const rows = (await store.read('r1'))?.rows ?? [];
    for (const count of [5, 20, 41, 77, 110, rows.length - 3]) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      // A view sees what is on disk: the first life showed exactly these.
      const before = whole.filter(({ record }) => record <= count);
      const after: RunRecord[] = [];
      const again = team();
      await resumeRun(again.lead, 'r1', {
        ...again.options,
        model: again.model,
        journal: half,
        views: [(record) => after.push(record)],
      }).result;
      const reopened = new Set(['run started', 'agent started', 'wait started', 'tool started']);
      const seen = new Set(before.map(({ kind, key, event }) => `${kind} ${key} ${event}`));
      const fresh = after.filter(
        ({ kind, key, event }) => !(seen.has(`${kind} ${key} ${event}`) && reopened.has(`${kind} ${event}`)),
      );
      const wanted = byAddress(whole);
      // A read that was under way has a start in each life; it is shown as another attempt.
      const got = byAddress([...before, ...fresh]);
      const doubled = after.filter(
        ({ kind, event, attempt }) => event === 'started' && (kind === 'model' || kind === 'tool') && attempt > 1,
      );
      expect(got.filter((one) => !doubled.some(({ kind, key, event }) => one === `${kind} ${key} ${event}`))).toEqual(
        wanted.filter((one) => !doubled.some(({ kind, key, event }) => one === `${kind} ${key} ${event}`)),
      );
      half.close();
    }
  });

  test('the step logs of both lives together have each step once, with its cost', { timeout: 60_000 }, async () => {
    const store = journal();
    const wholeLog = join(folder(), 'whole.jsonl');
    const { lead, model, options } = team();
    const whole = await runAgent(lead, 'Sail', {
      ...options,
      model,
      journal: store,
      runId: 'r1',
      views: [jsonlLog(wholeLog, { content: 'full' })],
    });
    const ends = (file: string) =>
      lines(file)
        .filter(({ event }) => event === 'end')
        .map(({ path, step }) => `${path} ${step}`);
    const spent = (file: string) => lines(file).reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0);
    expect(new Set(ends(wholeLog)).size).toBe(ends(wholeLog).length);
    expect(spent(wholeLog)).toBe(whole.usage.inputTokens);
    for (const at of [0.2, 0.5, 0.8]) {
      const log = join(folder(), 'run.jsonl');
      const first = team();
      const half = journal();
      const dying = mortal(half, Math.floor(at * 150));
      const shownFirst = jsonlLog(log, { content: 'full' });
      const run = startRun(first.lead, 'Sail', {
        ...first.options,
        model: first.model,
        journal: dying.store,
        runId: 'r1',
        views: [shownFirst],
      });
      run.result.catch(() => {});
      await dying.dead;
      // What its log was shown is in the file.
      await shownFirst.flush?.();
      const second = team();
      const { usage } = await resumeRun(second.lead, 'r1', {
        ...second.options,
        model: second.model,
        journal: half,
        takeover: true,
        views: [jsonlLog(log, { content: 'full' })],
      }).result;
      const steps = ends(log);
      expect(steps.filter((one, index) => steps.indexOf(one) !== index)).toEqual([]);
      // What the first life had begun and not ended was lost with its memory; a replay shows it whole.
      expect(ends(wholeLog)).toEqual(expect.arrayContaining(steps));
      expect(spent(log)).toBeLessThanOrEqual(usage.inputTokens);
      const replayed = join(folder(), 'replayed.jsonl');
      const shown = await replayRun(
        second.lead,
        { journal: half, runId: 'r1' },
        { views: [jsonlLog(replayed, { content: 'full' })] },
      ).result;
      expect(shown.status).toBe('completed');
      expect(ends(replayed).toSorted()).toEqual(ends(wholeLog).toSorted());
      expect(spent(replayed)).toBe(usage.inputTokens);
    }
  });

  test('the events of a resume go on without a gap, each call has a start and an end', async () => {
    const store = journal();
    const { lead, model, options } = team();
    await runAgent(lead, 'Sail', { ...options, model, journal: store, runId: 'r1' });
    const rows = (await store.read('r1'))?.rows ?? [];
    const half = await killedAfter(rows, 60, { id: 'r1', agent: 'lead' });
    const again = team();
    const run = resumeRun(again.lead, 'r1', { ...again.options, model: again.model, journal: half });
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.type).toBe('run.start');
    expect(events.at(-1)?.type).toBe('run.end');
    const open = new Map<string, number>();
    for (const { type, key } of events) {
      const [what, when] = type.split('.');
      if (what !== 'tool' && what !== 'model') continue;
      if (when === 'start') open.set(key, (open.get(key) ?? 0) + 1);
      if (when === 'end') expect(open.get(key), `${type} ${key}`).toBe(1);
    }
    expect(new Set(events.map(({ record }) => record)).size).toBe(events.length);
  });
});

/** Dies after so many records: what comes after is never written, and nobody is told. */
function mortal(store: RecordStore, records: number): { store: RecordStore; dead: Promise<void> } {
  let left = records;
  let isDead = false;
  const { promise: dead, resolve } = Promise.withResolvers<void>();
  const create: RecordStore['create'] = async (run) => {
    const log = await store.create(run);
    return new Proxy(log, {
      get(target, name) {
        if (name === 'append')
          return (row: Parameters<typeof log.append>[0]) => {
            if (isDead) return;
            target.append(row);
            left -= 1;
          };
        if (name === 'commit' && isDead) return () => new Promise(() => {});
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
      set(target, name, value) {
        if (name !== 'onCommit') return Reflect.set(target, name, value, target);
        // It dies between two commits: what views saw is on disk, and nothing of what is not.
        return Reflect.set(target, name, () => {
          value();
          if (left > 0 || isDead) return;
          isDead = true;
          resolve();
        });
      },
    });
  };
  return { store: { ...bound(store), create }, dead };
}

function bound(store: RecordStore): RecordStore {
  return {
    create: (run) => store.create(run),
    open: (id, options) => store.open(id, options),
    read: (id) => store.read(id),
    list: () => store.list(),
    signal: (run, signal) => store.signal(run, signal),
    prune: (before) => store.prune(before),
    close: () => store.close(),
  };
}

test('on no journal, on SQLite and on one that sends all as JSON a run is the same', async () => {
  const said = [];
  for (const store of [undefined, journal(), throughJson(journal())]) {
    const { lead, model, options } = team();
    const records: RunRecord[] = [];
    const given = { ...options, model, views: [(record: RunRecord) => records.push(record)] };
    const result = await runAgent(
      lead,
      'Sail',
      store === undefined ? given : { ...given, journal: store, runId: 'r1' },
    );
    const { status, text, messages, usage, steps, toolCalls, tree, byAgent, byModel } = result;
    const facts = JSON.stringify({ status, text, messages, usage, steps, toolCalls, tree, byAgent, byModel });
    said.push({ facts: facts.replace(/0\.\d{6,}/g, 'n'), records: byAddress(records) });
  }
  expect(said[1]).toEqual(said[0]);
  expect(said[2]).toEqual(said[0]);
});

test('on a journal that sends all as JSON a run is resumed as on any other', { timeout: 300_000 }, async () => {
  const store = journal();
  const { lead, model, options } = team();
  const whole = await runAgent(lead, 'Sail', { ...options, model, journal: throughJson(store), runId: 'r1' });
  const rows = (await store.read('r1'))?.rows ?? [];
  for (const count of someNumbers(7, rows.length - 1, 4)) {
    const half = throughJson(await killedAfter(rows, count, { id: 'r1', agent: 'lead' }));
    const again = team();
    const { text, usage, steps, toolCalls } = await resumeRun(again.lead, 'r1', {
      ...again.options,
      model: again.model,
      journal: half,
    }).result;
    expect({ text, usage, steps, toolCalls }).toEqual({
      text: whole.text,
      usage: whole.usage,
      steps: whole.steps,
      toolCalls: whole.toolCalls,
    });
  }
});
