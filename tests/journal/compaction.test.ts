import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Compact, type Compactor, type RecordStore, replayRun, resumeRun, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { asSent, loggedRequest, replayedRequest } from '../../src/cli/replayed-request.ts';
import { folder, journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { asksForSummary, reading } from '../support/reading.ts';
import { someNumbers } from '../support/tries.ts';
import { eventsOf } from '../support/turns.ts';

const compactor = (): Compactor & { calls: number } => {
  const compact = (messages: readonly object[]) => {
    compact.calls += 1;
    return [{ role: 'user' as const, content: `${messages.length} messages` }];
  };
  compact.calls = 0;
  return compact;
};

const ways: Record<string, () => Compact> = {
  summarize: () => 'summarize',
  'a summary by a model of choice': () => ({
    summarize: { model: scriptedModel(() => 'Short.', { provider: 'other', id: 'small' }) },
  }),
  'a compactor': compactor,
  drop: () => 'drop',
};

async function whole(store: RecordStore, compact: Compact) {
  const { agent, model } = reading({ compact });
  const result = await runAgent(agent, 'Read', { model, journal: store, runId: 'r' });
  return { result, model, rows: (await store.read('r'))?.rows ?? [] };
}

describe.each(Object.entries(ways))('%s', (name, way) => {
  it('is done once, wherever the process dies', async () => {
    const { result, rows } = await whole(journal(), way());
    const isSummary = ({ key, event }: StoredRow) => key.includes('/@summary') && event === 'done';
    const summaries = rows.filter(isSummary).map(({ key }) => key);
    // Most where a summary is paid for.
    for (const count of someNumbers(1, rows.length - 1, name === 'summarize' ? 15 : 5)) {
      const store = await killedAfter(rows, count, { id: 'r', agent: 'reader' });
      const { agent, model } = reading({ compact: way() });
      const resumed = await resumeRun(agent, 'r', { journal: store, model }).result;
      expect(resumed, `record ${count}`).toMatchObject({ status: 'completed', text: 'Done.', steps: result.steps });
      expect(resumed.usage.modelCalls, 'paid once').toBe(result.usage.modelCalls);
      expect(resumed.messages).toEqual(result.messages);
      const again = ((await store.read('r'))?.rows ?? []).filter(isSummary).map(({ key }) => key);
      expect(again, 'each once').toEqual(summaries);
      const paid = rows.slice(0, count).filter(isSummary).length;
      expect(model.requests.filter(asksForSummary).length).toBeLessThanOrEqual(summaries.length - paid);
    }
  });

  it('is shown again by a replay, and every request can be rebuilt byte for byte', async () => {
    const store = journal();
    const log = join(folder(), 'run.jsonl');
    const compact = way();
    const { agent, model } = reading({ compact });
    const run = startRun(agent, 'Read', {
      model,
      journal: store,
      runId: 'r',
      views: [jsonlLog(log, { content: 'full' })],
    });
    const [events, result] = await Promise.all([eventsOf(run), run.result]);
    expect(result.status).toBe('completed');

    const replay = replayRun(agent, { journal: store, runId: 'r' });
    const [shown, replayed] = await Promise.all([eventsOf(replay), replay.result]);
    expect(replayed).toEqual({ ...result, traceId: replayed.traceId });
    const told = (list: typeof events) =>
      list.filter(({ type }) => type === 'context.compact').map(({ seq: _, ...one }) => one);
    expect(told(shown)).toEqual(told(events));
    expect(told(events).length).toBeGreaterThan(1);

    const calls = events.filter((event) => event.type === 'model.start').map(({ key }) => key);
    const requests = [...model.requests];
    const isOther = typeof compact === 'object';
    for (const key of calls) {
      const logged = await loggedRequest(log, 'r', key);
      const fromJournal = await replayedRequest(agent, store, 'r', key);
      expect(JSON.stringify(logged?.messages), key).toBe(JSON.stringify(fromJournal?.messages));
      if (isOther && key.includes('@summary')) continue;
      const sent = requests.shift();
      expect(JSON.stringify(fromJournal?.messages), key).toBe(JSON.stringify(sent?.messages.map(asSent)));
    }
    expect(requests).toEqual([]);
  });

  it('is the same in a replay of the step log alone', async () => {
    const log = join(folder(), 'run.jsonl');
    const compact = way();
    const { agent, model } = reading({ compact });
    const run = startRun(agent, 'Read', { model, views: [jsonlLog(log, { content: 'full' })] });
    const result = await run.result;
    const again = await replayRun(agent, { log }).result;
    expect(again).toMatchObject({ status: result.status, text: result.text, steps: result.steps });
    expect(readFileSync(log, 'utf8')).toContain('@window');
  });
});

describe.each(['summarize', 'drop'] as const)('%s', (compact) => {
  it.each([2_500, 100_000])('stands as it was where a resume has a window of %i tokens', async (maxTokens) => {
    const { rows } = await whole(journal(), compact);
    const last = rows.findLastIndex(({ key }) => key.includes('@window'));
    const store = await killedAfter(rows, last + 4, { id: 'r', agent: 'reader' });
    const { agent, model } = reading({ compact, maxTokens });
    const run = resumeRun(agent, 'r', { journal: store, model });
    const [events, resumed] = await Promise.all([eventsOf(run), run.result]);
    expect(resumed).toMatchObject({ status: 'completed', text: 'Done.' });
    // What a summary was asked for says how long it may be; no other request is another than on record.
    const diverged = events.filter(({ type }) => type === 'run.diverged').map(({ key }) => key);
    expect(diverged.filter((key) => !key.includes('@summary'))).toEqual([]);
    const before = rows.slice(0, last + 4);
    expect(((await store.read('r'))?.rows ?? []).slice(0, before.length).map(({ key }) => key)).toEqual(
      before.map(({ key }) => key),
    );
  });

  it('of a wrap-up no longer counts where a larger limit goes on after it', async () => {
    let tried = 0;
    for (let steps = 3; steps < 12; steps += 1) {
      const store = journal();
      const first = reading({ compact, steps });
      const ended = await runAgent(first.agent, 'Read', { model: first.model, journal: store, runId: 'r' });
      expect(ended.status).toBe('step_limit');
      const rows = (await store.read('r'))?.rows ?? [];
      if (!rows.some(({ key }) => /@wrapup\.(summary|window)/.test(key))) continue;
      tried += 1;
      const { agent, model } = reading({ compact, steps: 40 });
      const resumed = await resumeRun(agent, 'r', { journal: store, model }).result;
      expect(resumed).toMatchObject({ status: 'completed', text: 'Done.', steps: 13 });
    }
    expect(tried).toBeGreaterThan(0);
  });
});

describe('a compactor', () => {
  it('is not called again for what is on record', async () => {
    const compact = compactor();
    const store = journal();
    const { agent } = await (async () => {
      const made = reading({ compact });
      await runAgent(made.agent, 'Read', { model: made.model, journal: store, runId: 'r' });
      return made;
    })();
    const { calls } = compact;
    expect(calls).toBeGreaterThan(1);
    await replayRun(agent, { journal: store, runId: 'r' }).result;
    expect(compact.calls).toBe(calls);
  });
});
