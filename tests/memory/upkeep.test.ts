import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineAgent, type Model, runAgent, startRun } from 'coxswain';
import { type ConsolidateOptions, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let folder: string;
const open: LongTermMemory[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-upkeep-'));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

const never = scriptedModel([]);
/** As what a clerk saves is labelled: what is of one trust is judged together. */
const label = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
const MERGE = JSON.stringify({ merge: [{ entries: [1, 2], text: 'merged' }], outdated: [] });
const KEEP = JSON.stringify({ merge: [], outdated: [] });

function memory(after: ConsolidateOptions['after'], more: Partial<ConsolidateOptions> = {}): LongTermMemory {
  const store = longTermMemory({ file: join(folder, 'memory.db'), consolidate: { model: never, after, ...more } });
  open.push(store);
  return store;
}

/** An agent that saves what it is told; `judge` is the model of the consolidation. */
function models(judge: () => unknown): { model: Model; nights: () => number } {
  let nights = 0;
  const model = scriptedModel(({ instructions, messages }) => {
    if (instructions.startsWith('You keep a memory in order')) {
      nights += 1;
      return judge() as never;
    }
    const [said] = messages;
    if (messages.length > 1) return 'saved';
    return callTools(toolCall('memory_save', { text: String(said?.content) }));
  });
  return { model, nights: () => nights };
}

const agentOf = (store: LongTermMemory, namespace = 'team') =>
  defineAgent({ name: 'clerk', description: 'x', instructions: 'Save.', memory: [{ store, namespace, write: true }] });
const texts = async (store: LongTermMemory) => (await store.list({ namespace: 'team' })).map(({ text }) => text).sort();

describe('consolidate', () => {
  it('starts by itself after so many sessions that wrote, as a run of its own, and can be undone', async () => {
    const store = memory({ sessions: 2 });
    const { model, nights } = models(() => MERGE);
    const journal = sqlite(':memory:');
    await startRun(agentOf(store), 'the door is blue', { model, journal, runId: 'one' }).settled;
    expect(nights()).toBe(0);
    const second = startRun(agentOf(store), 'blue is the door', { model, journal, runId: 'two' });
    expect((await second.result).usage.modelCalls).toBe(2);
    await second.settled;
    expect(nights()).toBe(1);
    expect(await texts(store)).toEqual(['merged']);
    expect((await journal.list()).map(({ id, status }) => [id, status])).toContainEqual([
      'two.upkeep.1.1',
      'completed',
    ]);
    const [night] = await store.consolidations('team');
    expect(night).toMatchObject({ name: 'two.upkeep.1.1/consolidate', closed: 2, undone: false });
    expect(await store.undo(night?.name ?? '')).toBe(2);
    expect(await texts(store)).toEqual(['blue is the door', 'the door is blue']);
    expect(await store.consolidations('team')).toMatchObject([{ undone: true }]);
    // What came back is not new.
    await startRun(agentOf(store), 'a third fact', { model }).settled;
    expect(nights()).toBe(1);
    journal.close();
  });

  it('starts after so many entries, whoever wrote them, counted from the last time', async () => {
    const store = memory({ entries: 3, sessions: 100 });
    const { model, nights } = models(() => KEEP);
    for (const text of ['one', 'two']) await store.add({ text, namespace: 'team', source: 'x', label });
    await store.add({ text: 'elsewhere', namespace: 'other', source: 'x' });
    await startRun(agentOf(store), 'three', { model }).settled;
    expect(nights()).toBe(1);
    await startRun(agentOf(store), 'four', { model }).settled;
    await startRun(agentOf(store), 'five', { model }).settled;
    expect(nights()).toBe(1);
    await startRun(agentOf(store), 'six', { model }).settled;
    expect(nights()).toBe(2);
  });

  it('is given to one of many that ask at once, in whatever process', async () => {
    const [a, b] = [memory({ entries: 2 }), memory({ entries: 2 })];
    for (const text of ['one', 'two']) await a.add({ text, namespace: 'team', source: 'x' });
    const asked = await Promise.all([a, b, a, b].map((store) => store.upkeep?.('team')));
    const given = asked.flatMap((one) => one ?? []);
    expect(given).toHaveLength(1);
    await given[0]?.end(true);
    expect(await b.upkeep?.('team')).toBeUndefined();
    for (const text of ['three', 'four']) await a.add({ text, namespace: 'team', source: 'x' });
    expect(await b.upkeep?.('team')).toBeDefined();
  });

  it('that fails, or whose process died, is due again when its lease has run out', async () => {
    const store = memory({ entries: 2 }, { limits: { timeMs: 1_000 } });
    const errors: unknown[] = [];
    const { model, nights } = models(() => Promise.reject(new Error('down')));
    await store.add({ text: 'one', namespace: 'team', source: 'x', label });
    await startRun(agentOf(store), 'two', { model, onObserverError: (error) => errors.push(error) }).settled;
    expect(nights()).toBe(1);
    expect(String(errors)).toMatch(/consolidate ended with model_error/);
    expect(await store.upkeep?.('team')).toBeUndefined();
    vi.useFakeTimers({ now: Date.now() + 62_000, toFake: ['Date'] });
    expect(await store.upkeep?.('team')).toBeDefined();
    // Its holder died: nobody ended it.
    expect(await store.upkeep?.('team')).toBeUndefined();
    vi.setSystemTime(Date.now() + 62_000);
    expect(await store.upkeep?.('team')).toBeDefined();
  });

  it('does not end a lease that another has taken over', async () => {
    const store = memory({ entries: 2 }, { limits: { timeMs: 1_000 } });
    for (const text of ['one', 'two']) await store.add({ text, namespace: 'team', source: 'x' });
    const late = await store.upkeep?.('team');
    vi.useFakeTimers({ now: Date.now() + 62_000, toFake: ['Date'] });
    const next = await store.upkeep?.('team');
    await late?.end(true);
    expect(await store.upkeep?.('team')).toBeUndefined();
    await next?.end(true);
    expect(await store.upkeep?.('team')).toBeUndefined();
  });

  it('goes on where the clock was set back: no lease lasts for years, and what is new is looked at', async () => {
    const store = memory({ entries: 2 });
    const { model, nights } = models(() => MERGE);
    const now = Date.now();
    vi.useFakeTimers({ now: now + 1e11, toFake: ['Date'] });
    for (const text of ['one', 'two']) await store.add({ text, namespace: 'team', source: 'x', label });
    await (await store.upkeep?.('team'))?.end(true);
    for (const text of ['three', 'four']) await store.add({ text, namespace: 'team', source: 'x', label });
    expect(await store.upkeep?.('team')).toBeDefined();
    vi.setSystemTime(now);
    await store.add({ text: 'five', namespace: 'team', source: 'x', label });
    await startRun(agentOf(store), 'six', { model }).settled;
    expect(nights()).toBe(1);
    expect(await texts(store)).toHaveLength(5);
  });

  it('leaves nothing of a namespace that is gone', async () => {
    const store = memory({ entries: 1 });
    const { id } = await store.add({ text: 'one', namespace: 'user/zanzibar', source: 'x' });
    await (await store.upkeep?.('user/zanzibar'))?.end(true);
    await store.remove(id);
    const database = new DatabaseSync(join(folder, 'memory.db'));
    expect(database.prepare('SELECT count(*) AS count FROM upkeep').get()).toEqual({ count: 0 });
    database.close();
  });

  it('is not asked for by runs that may not write there', async () => {
    const store = memory({ entries: 1 });
    await store.add({ text: 'one', namespace: 'team', source: 'x' });
    await store.add({ text: 'two', namespace: 'team', source: 'x' });
    const { model, nights } = models(() => KEEP);
    const reader = defineAgent({ name: 'reader', instructions: 'x', memory: [{ store, namespace: 'team' }] });
    await runAgent(reader, 'hello', { model: scriptedModel(['hi']) });
    await startRun(agentOf(store, 'other'), 'three', { model }).settled;
    expect(nights()).toBe(0);
  });

  it.each([
    [{ model: never }, 'longTermMemory.consolidate.after'],
    [{ model: never, after: {} }, 'longTermMemory.consolidate.after'],
    [{ model: never, after: { entries: 0 } }, 'longTermMemory.consolidate.after.entries'],
    [{ after: { entries: 1 } }, 'longTermMemory.consolidate.model'],
    [{ model: {}, after: { entries: 1 } }, 'longTermMemory.consolidate.model'],
    [{ model: never, after: { entries: 1 }, batch: 0 }, 'longTermMemory.consolidate.batch'],
    [{ model: never, after: { entries: 1 }, every: 1 }, 'longTermMemory.consolidate.every'],
    [{ model: never, after: { entries: 1 }, limits: { tokens: -1 } }, 'longTermMemory.consolidate.limits.tokens'],
  ])('is refused where wrong: %#', (consolidate, field) => {
    expect(() => longTermMemory({ file: ':memory:', consolidate } as never)).toThrow(
      expect.objectContaining({ field }),
    );
  });
});

it('a file of the schema before gets what is missing, and keeps what it has', async () => {
  const file = join(folder, 'old.db');
  const before = longTermMemory({ file });
  await before.add({ text: 'kept', namespace: 'team', source: 'x' });
  await before.close();
  const database = new DatabaseSync(file);
  database.exec(`DROP TABLE upkeep; DROP TABLE embeddings; DROP TABLE leftovers; DROP INDEX versions_by_near;
    DROP INDEX versions_by_end; DROP INDEX versions_by_opening; DROP INDEX versions_by_closing;
    CREATE INDEX current_by_near ON versions (namespace, near) WHERE valid_to IS NULL; PRAGMA user_version = 2`);
  database.close();
  const store = longTermMemory({ file, consolidate: { model: never, after: { entries: 1 } } });
  open.push(store);
  expect(await texts(store)).toEqual(['kept']);
  expect(await store.upkeep?.('team')).toBeDefined();
});

it('a file of schema 3 gets what runs leave, and keeps what it has', async () => {
  const file = join(folder, 'old.db');
  const before = longTermMemory({ file });
  await before.add({ text: 'kept', namespace: 'team', source: 'x' });
  await before.close();
  const database = new DatabaseSync(file);
  database.exec('DROP TABLE leftovers; PRAGMA user_version = 3');
  database.close();
  const store = longTermMemory({ file });
  open.push(store);
  expect(await store.takePendingExtraction({ agent: 'x', namespace: 'team' }, 1)).toBeUndefined();
  expect(await texts(store)).toEqual(['kept']);
});
