import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { resumeRun, startRun } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { sqlite } from 'coxswain/sqlite';
import { scriptedModel } from 'coxswain/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { clerk, embedder, GROUPS, night, TEXTS } from './kill-child.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-kill-'));
  file = join(folder, 'memory.db');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const CHILD = fileURLToPath(new URL('kill-child.ts', import.meta.url));

/** Lets a child work until it has said so many lines, kills it, and gives what it said. */
function killed(work: string, lines: number): Promise<string[]> {
  const child = spawn(process.execPath, ['--conditions=@coxswain/source', CHILD, file, work], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.split('\n').length > lines) child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    child.on('close', () => resolve(said.split('\n').slice(0, -1)));
  });
}

/** Whatever was killed when: tables, index and counts agree. */
function expectWhole(): void {
  const database = new DatabaseSync(file);
  const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  database.exec("INSERT INTO lexical (lexical, rank) VALUES ('integrity-check', 1)");
  expect(one('SELECT count(*) FROM lexical')).toBe(one('SELECT count(*) FROM versions'));
  expect(one('SELECT coalesce(sum(entries), 0) FROM namespaces')).toBe(
    one('SELECT count(*) FROM versions WHERE valid_to IS NULL'),
  );
  expect(one('SELECT coalesce(sum(terms), 0) FROM namespaces')).toBe(
    one('SELECT coalesce(sum(terms), 0) FROM versions WHERE valid_to IS NULL'),
  );
  expect(
    one('SELECT count(*) FROM versions e WHERE NOT EXISTS (SELECT 1 FROM sightings s WHERE s.version = e.number)'),
  ).toBe(0);
  expect(
    one(
      'SELECT count(*) FROM vectors v JOIN versions e ON e.number = v.version WHERE v.current <> (e.valid_to IS NULL)',
    ),
  ).toBe(0);
  database.close();
}

it('what was added before a kill is there once, whole, and in both indexes', async () => {
  let acknowledged = -1;
  for (const lines of [1, 20, 7, 33]) {
    acknowledged = Math.max(
      acknowledged,
      Number((await killed('insert', lines)).filter((line) => line !== 'batch').at(-1) ?? -1),
    );
    expectWhole();
  }
  const store = longTermMemory({ file, embedder: embedder('old') });
  const texts = (await store.list({ namespace: 'team', limit: 10_000 })).map(({ text }) => text);
  expect(new Set(texts).size).toBe(texts.length);
  for (let index = 0; index <= acknowledged; index++) expect(texts).toContain(`thing number ${index}`);
  const hits = await store.search(`thing number ${acknowledged}`, { namespace: 'team', topK: 1 });
  expect(hits[0]?.text).toBe(`thing number ${acknowledged}`);
  expect(await store.reembed()).toBe(0);
  await store.close();
});

it('what was updated before a kill has one current version and an unbroken history', async () => {
  let acknowledged = 0;
  for (const lines of [3, 25, 40]) {
    acknowledged = Math.max(
      acknowledged,
      Number((await killed('update', lines)).filter((line) => line !== 'batch').at(-1) ?? 0),
    );
    expectWhole();
  }
  const store = longTermMemory({ file, embedder: embedder('old') });
  const current = await store.getByKey('team', 'counter');
  const history = await store.history(current?.id ?? '');
  expect(current?.version).toBeGreaterThan(acknowledged);
  expect(history.map(({ version }) => version)).toEqual(history.map((_, index) => index + 1));
  history.forEach((version, index) => {
    expect(version.validTo).toBe(history[index + 1]?.validFrom);
  });
  await store.close();
});

it('a consolidation that was killed has happened or not, and happens once', async () => {
  const store = longTermMemory({ file, embedder: embedder('old') });
  await store.addAll(
    Array.from({ length: GROUPS * 3 }, (_, index) => ({
      text: `fact ${index} of the group`,
      namespace: 'team',
      source: `s${index}`,
      metadata: { group: index % GROUPS },
    })),
  );
  await store.close();
  for (const lines of [2, 3, 4]) {
    await killed('consolidate', lines);
    expectWhole();
    const again = longTermMemory({ file, embedder: embedder('old') });
    const count = (await again.list({ namespace: 'team', limit: 1_000 })).length;
    expect([GROUPS, GROUPS * 3]).toContain(count);
    await again.close();
  }
});

it('a consolidation that was killed as a run goes on at a resume, and merges and closes once', async () => {
  const store = longTermMemory({ file, embedder: embedder('old') });
  const texts = Array.from({ length: 40 }, (_, index) => `fact ${index} stands alone`);
  await store.addAll(texts.map((text, index) => ({ text, namespace: 'team', source: `s${index}` })));
  await store.close();
  // Embedding a merged text says a line too.
  expect(await killed('night', 5)).not.toContain('all');
  expectWhole();
  const journal = sqlite(`${file}.runs`);
  const again = longTermMemory({ file, embedder: embedder('old') });
  const result = await resumeRun(night(again), 'night', { journal }).result;
  expect(result).toMatchObject({ status: 'completed', output: { closed: 12, merged: 4, skipped: 0 } });
  expectWhole();
  expect(await again.list({ namespace: 'team' })).toHaveLength(40 - 4 * 3 + 4);
  expect(await again.undo('night/consolidate')).toBe(12);
  expect((await again.list({ namespace: 'team' })).map(({ text }) => text).sort()).toEqual(texts.sort());
  await again.close();
  journal.close();
});

it('many texts whose add was killed are stored all or none, and what was embedded is not asked for again', async () => {
  const said = await killed('many', 3);
  expect(said).not.toContain('all');
  expectWhole();
  let asked = 0;
  const count = (texts: number) => {
    asked += texts;
  };
  const store = longTermMemory({ file, embedder: embedder('old', count) });
  expect(await store.namespaces()).toEqual([]);
  await store.addAll(TEXTS.map((text) => ({ text, namespace: 'team', source: 'child' })));
  expect(asked).toBeLessThanOrEqual(TEXTS.length - 2 * 256);
  expect(await store.list({ namespace: 'team', limit: 10_000 })).toHaveLength(TEXTS.length);
  await store.close();
  expectWhole();
});

it('a re-embedding that was killed goes on where it was', async () => {
  const store = longTermMemory({ file, embedder: embedder('old') });
  const entries = Array.from({ length: 300 }, (_, index) => ({
    text: `note ${index}`,
    namespace: 'team',
    source: 's',
  }));
  await store.addAll(entries);
  await store.close();
  const said = await killed('reembed', 2);
  expectWhole();
  let asked = 0;
  const again = longTermMemory({
    file,
    embedder: embedder('new', (count) => {
      asked += count;
    }),
  });
  await again.reembed();
  if (!said.includes('all')) expect(asked).toBeLessThan(300);
  expect(await again.reembed()).toBe(0);
  await again.close();
  expectWhole();
  const database = new DatabaseSync(file);
  const rows = database
    .prepare("SELECT count(*) AS count FROM vectors v JOIN segments s ON s.number = v.segment WHERE s.embedder = 'new'")
    .get();
  expect(rows).toEqual({ count: 300 });
  database.close();
});

it('what a run left to be remembered when its process was killed is taken up once, when its lease has run out', async () => {
  expect(await killed('extract', 3)).toEqual(expect.arrayContaining(['asked', 'over']));
  expectWhole();
  const store = longTermMemory({ file });
  const seen: string[] = [];
  const model = scriptedModel(({ instructions, messages }) => {
    if (!instructions.startsWith('You keep a memory')) return 'Hello.';
    const text = String(messages[0]?.content);
    seen.push(text.includes('Porto') ? 'the dead one' : 'its own');
    const memory = { text: 'The user lives in Porto', kind: 'user', key: '' };
    return JSON.stringify({ memories: text.includes('Porto') ? [memory] : [] });
  });
  const again = async (namespace?: string) => {
    seen.length = 0;
    await startRun(clerk(store, namespace), 'hello', { model }).settled;
    return seen;
  };
  expect(await again()).toEqual(['its own']);
  vi.useFakeTimers({ now: Date.now() + 12 * 60_000, toFake: ['Date'] });
  expect(await again('user/bob')).toEqual(['its own']);
  expect(await again()).toEqual(['its own', 'the dead one']);
  const [entry, ...more] = await store.list({ namespace: 'user/ada' });
  expect(entry).toMatchObject({
    text: 'The user lives in Porto',
    source: 'clerk/killed',
    agent: 'clerk',
    run: 'killed',
  });
  expect(more).toEqual([]);
  vi.setSystemTime(Date.now() + 12 * 60_000);
  expect(await again()).toEqual(['its own']);
  await store.close();
});
