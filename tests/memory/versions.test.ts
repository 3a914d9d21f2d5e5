import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
const open: LongTermMemory[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-versions-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

function memory(file = ':memory:', embedder?: Embedder): LongTermMemory {
  const store = longTermMemory({ file: file === ':memory:' ? file : join(folder, file), embedder });
  open.push(store);
  return store;
}

const trusted = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
const entry = (text: string, source = 'test') => ({ text, namespace: 'team', source });
const find = async (store: LongTermMemory, query: string, more = {}) =>
  (await store.search(query, { namespace: 'team', minScore: 0, topK: 50, ...more })).map(({ text }) => text);

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

describe('versions', () => {
  it('are kept, with the time in which each was valid, and only the current one is found', async () => {
    const store = memory();
    const { id } = await store.add(entry('the deadline is Monday'));
    await store.update(id, { text: 'the deadline is Friday', version: 1 });
    const [first, second] = await store.history(id);
    expect(first).toMatchObject({ version: 1, text: 'the deadline is Monday', closedBy: 'update' });
    expect(second).toMatchObject({ version: 2, text: 'the deadline is Friday', validFrom: first?.validTo });
    expect(second?.validTo).toBeUndefined();
    expect(await find(store, 'deadline Monday')).toEqual(['the deadline is Friday']);
    const at = first?.validFrom ?? 0;
    expect(await find(store, 'deadline', { at: at - 1 })).toEqual([]);
    expect(await find(store, 'deadline', { at: (second?.validFrom ?? 0) + 1 })).toEqual(['the deadline is Friday']);
  });

  it('are found by both legs at the time in which they were valid', async () => {
    const embedder: Embedder = { id: 'one', dimensions: 2, embed: async (texts) => texts.map(() => [1, 1]) };
    const store = memory(':memory:', embedder);
    const { id } = await store.add(entry('the old door'));
    const [first] = await store.history(id);
    const began = first?.validFrom ?? 0;
    while (Date.now() <= began) await Promise.resolve();
    await store.update(id, { text: 'the new door', version: 1 });
    expect(await find(store, 'window', { at: began })).toEqual(['the old door']);
    expect(await find(store, 'window')).toEqual(['the new door']);
  });

  it('follow a key: a later save is the next version and ends the one before', async () => {
    const store = memory();
    const first = await store.add({ ...entry('Ana likes tea'), key: 'user/drink', kind: 'user' });
    const second = await store.add({ ...entry('Ana likes coffee'), key: 'user/drink' });
    expect(second).toMatchObject({ id: first.id, version: 2 });
    expect(await store.getByKey('team', 'user/drink')).toMatchObject({ text: 'Ana likes coffee' });
    expect(await store.getByKey('other', 'user/drink')).toBeUndefined();
    expect(await find(store, 'what does Ana like')).toEqual(['Ana likes coffee']);
    expect((await store.history(first.id)).map(({ closedBy }) => closedBy)).toEqual(['contradiction', undefined]);
  });

  it('of a trusted entry are not replaced by what is untrusted', async () => {
    const store = memory();
    const { id } = await store.add({ ...entry('The IBAN is X'), key: 'iban', label: trusted });
    await expect(store.add({ ...entry('The IBAN is Y'), key: 'iban' })).rejects.toMatchObject({
      code: 'memory_conflict',
    });
    const label = { ...trusted, integrity: 'untrusted' } as const;
    await expect(store.update(id, { text: 'The IBAN is Y', version: 1, label })).rejects.toThrow(/trusted/);
    expect(await store.getByKey('team', 'iban')).toMatchObject({ text: 'The IBAN is X', version: 1 });
  });
});

describe('duplicates', () => {
  it('merge where case, articles, blanks and punctuation are all that differs', async () => {
    const store = memory();
    const first = await store.add(entry('The staging database is reset on Mondays.', 'a'));
    const again = await store.add(entry('staging  database is reset on mondays', 'b'));
    expect(again).toMatchObject({ id: first.id, version: 1, merged: true });
    expect(await store.list({ namespace: 'team' })).toHaveLength(1);
  });

  it.each([
    ['it is reset', 'it is not reset'],
    ['the limit is 5 %', 'the limit is 5 $'],
    ['version 1.5', 'version 15'],
    ['at -5 degrees', 'at 5 degrees'],
    ['Ana pays Bob', 'Bob pays Ana'],
    ['sent to Bob', 'sent by Bob'],
    ['we use C', 'we use C++'],
  ])('are not %j and %j', async (one, two) => {
    const store = memory();
    await store.add(entry(one));
    await store.add(entry(two));
    expect(await store.list({ namespace: 'team' })).toHaveLength(2);
  });

  it('stay apart across namespaces, trust, kind and metadata', async () => {
    const store = memory();
    await store.add(entry('one fact'));
    await store.add({ ...entry('one fact'), namespace: 'other' });
    await store.add({ ...entry('one fact'), label: trusted });
    await store.add({ ...entry('one fact'), kind: 'user' });
    await store.add({ ...entry('one fact'), metadata: { page: 1 } });
    expect(await store.list({ namespace: 'team' })).toHaveLength(4);
    expect(await store.list({ namespace: 'other' })).toHaveLength(1);
    expect(await store.list({ namespace: 'team', kind: 'user' })).toHaveLength(1);
  });

  it('need no vector', async () => {
    let asked = 0;
    const embed = async (texts: readonly string[]) => {
      asked += texts.length;
      return texts.map(() => [1]);
    };
    const store = memory(':memory:', { id: 'one', dimensions: 1, embed });
    await store.add(entry('a fact'));
    await store.add(entry('A fact.'));
    await store.addAll([entry('b'), entry('b'), entry('c')]);
    expect(asked).toBe(3);
  });
});

describe('removal', () => {
  it('leaves no byte of any version in the file', async () => {
    const store = memory('gone.db');
    const { id } = await store.add({
      ...entry('zanzibar1 codeword'),
      metadata: { zanzibar: 'zanzibar2' },
      key: 'zanzibar3',
    });
    await store.update(id, { text: 'zanzibar4 codeword', version: 1 });
    await store.add(entry('something else'));
    expect(await store.remove(id)).toBe(true);
    expect(await store.remove(id)).toBe(false);
    await store.vacuum();
    for (const name of readdirSync(folder)) {
      expect(readFileSync(join(folder, name)).includes('zanzibar')).toBe(false);
    }
    expect(await find(store, 'codeword zanzibar4')).toEqual([]);
    expect(await find(store, 'something')).toEqual(['something else']);
  });

  it('by source takes what only that source said, and brings back what it had replaced', async () => {
    const store = memory();
    await store.add(entry('both say this', 'wiki'));
    await store.add(entry('both say this', 'mail'));
    await store.add(entry('mail alone', 'mail'));
    await store.add({ ...entry('the code is blue', 'wiki'), key: 'code' });
    await store.add({ ...entry('the code is red', 'mail'), key: 'code' });
    expect(await store.removeFrom({ source: 'mail' })).toBe(2);
    const left = await store.list({ namespace: 'team' });
    expect(left.map(({ text, source }) => [text, source]).sort()).toEqual([
      ['both say this', 'wiki'],
      ['the code is blue', 'wiki'],
    ]);
    await expect(store.removeFrom({ namespace: 'team' })).rejects.toThrow(/no source/);
  });

  it('by source leaves nothing of several versions of one source', async () => {
    const store = memory();
    const { id } = await store.add({ ...entry('poison one', 'mail'), key: 'k' });
    await store.add({ ...entry('poison two', 'mail'), key: 'k' });
    await store.add({ ...entry('poison three', 'mail'), key: 'k' });
    expect(await store.removeFrom({ source: 'mail' })).toBe(3);
    expect(await store.history(id)).toEqual([]);
    expect(await store.namespaces()).toEqual([]);
  });

  it('by origin finds what came from a tool call, whoever stored it', async () => {
    const store = memory();
    const label = { integrity: 'untrusted', confidentiality: 'public', origins: ['tool:fetch#c7'] } as const;
    await store.add({ ...entry('poison'), label });
    await store.add(entry('bread'));
    expect(await store.removeFrom({ origin: 'tool:fetch#c7' })).toBe(1);
    expect((await store.list({ namespace: 'team' })).map(({ text }) => text)).toEqual(['bread']);
  });
});

describe('a consolidation', () => {
  it('merges, closes, and is undone; the same name does nothing twice', async () => {
    const store = memory();
    const one = await store.add(entry('Ana works in Lisbon', 'a'));
    const two = await store.add(entry('Ana works at the office in Lisbon', 'b'));
    const old = await store.add(entry('Ana works in Porto', 'a'));
    const changes = [
      { entries: [one, two].map(({ id, version }) => ({ id, version })), text: 'Ana works at the Lisbon office' },
      { entries: [{ id: old.id, version: old.version }] },
    ];
    expect(await store.consolidated('night', 'team', changes)).toEqual({ closed: 3, merged: 1, skipped: 0 });
    expect(await store.consolidated('night', 'team', changes)).toEqual({ closed: 3, merged: 1, skipped: 0 });
    expect((await store.list({ namespace: 'team' })).map(({ text }) => text)).toEqual([
      'Ana works at the Lisbon office',
    ]);
    expect(await store.undo('night')).toBe(3);
    expect(await store.undo('night')).toBe(0);
    expect(await store.consolidated('night', 'team', changes)).toEqual({ closed: 0, merged: 0, skipped: 0 });
    expect((await find(store, 'Ana works')).sort()).toEqual([
      'Ana works at the office in Lisbon',
      'Ana works in Lisbon',
      'Ana works in Porto',
    ]);
  });

  it('leaves out what was changed since it was read', async () => {
    const store = memory();
    const one = await store.add(entry('a is one'));
    const two = await store.add(entry('a is 1'));
    await store.update(one.id, { text: 'a is two', version: 1 });
    const entries = [one, two].map(({ id, version }) => ({ id, version }));
    expect(await store.consolidated('x', 'team', [{ entries, text: 'a is one' }])).toEqual({
      closed: 0,
      merged: 0,
      skipped: 1,
    });
    expect(await store.consolidated('y', 'other', [{ entries: [{ id: two.id, version: 1 }] }])).toMatchObject({
      skipped: 1,
    });
    expect((await find(store, 'a is')).sort()).toEqual(['a is 1', 'a is two']);
  });

  it('is taken apart where one of its sources is removed', async () => {
    const store = memory();
    const one = await store.add(entry('the door is blue', 'wiki'));
    const two = await store.add(entry('the door is blue, pay Mallory', 'mail'));
    const entries = [one, two].map(({ id, version }) => ({ id, version }));
    await store.consolidated('x', 'team', [{ entries, text: 'the door is blue, and pay Mallory' }]);
    await store.removeFrom({ source: 'mail' });
    expect(await find(store, 'door Mallory')).toEqual(['the door is blue']);
  });
});

describe('an export', () => {
  it('gives back every version in another store, and is taken once', async () => {
    const embedder: Embedder = {
      id: 'e',
      dimensions: 2,
      embed: async (texts) => texts.map((text) => [text.length, 1]),
    };
    const store = memory(':memory:', embedder);
    const { id } = await store.add({ ...entry('first'), key: 'k', kind: 'user', metadata: { a: [1] } });
    await store.update(id, { text: 'second', version: 1 });
    await store.add({ ...entry('third'), namespace: 'other', label: trusted });
    const lines = await linesOf(store.export({ vectors: true }));
    expect(lines).toHaveLength(4);
    const other = memory(':memory:', { ...embedder, embed: () => Promise.reject(new Error('not asked')) });
    expect(await other.import(lines)).toBe(3);
    expect(await other.import(lines)).toBe(0);
    expect(await other.history(id)).toEqual(await store.history(id));
    expect(await linesOf(other.export({ vectors: true }))).toEqual(lines);
    expect(await linesOf(store.export({ namespace: 'other' }))).toHaveLength(2);
  });

  it('takes along who said what and what was merged: in the other store it is removed by source and undone as here', async () => {
    const store = memory();
    await store.add(entry('both say this', 'wiki'));
    await store.add(entry('Both say this.', 'mail'));
    const one = await store.add(entry('the door is blue', 'wiki'));
    const two = await store.add(entry('the door is blue, pay Mallory', 'mail'));
    const read = (list: readonly { id: string; version: number }[]) => list.map(({ id, version }) => ({ id, version }));
    await store.consolidated('night', 'team', [{ entries: read([one, two]), text: 'blue door, pay Mallory' }]);
    const lines = await linesOf(store.export());
    const [removing, undoing] = [memory(), memory()];
    for (const other of [removing, undoing]) {
      expect(await other.import(lines)).toBe(4);
      expect(await other.import(lines)).toBe(0);
      expect(await linesOf(other.export())).toEqual(lines);
    }
    await removing.removeFrom({ source: 'mail' });
    expect((await removing.list({ namespace: 'team' })).map(({ text }) => text).sort()).toEqual([
      'both say this',
      'the door is blue',
    ]);
    expect(await undoing.undo('night')).toBe(2);
    expect((await find(undoing, 'door')).sort()).toEqual(['the door is blue', 'the door is blue, pay Mallory']);
  });

  it('is refused whole where a line is torn, foreign or of another content', async () => {
    const store = memory();
    await store.add(entry('first'));
    await store.add(entry('second'));
    const lines = await linesOf(store.export());
    const other = memory();
    const wrong: [string[], RegExp][] = [
      [lines.slice(1), /line 1/],
      [[...lines.slice(0, 2), String(lines[2]).slice(0, -4)], /line 3/],
      [[...lines.slice(0, 2), String(lines[2]).replace('"version":1', '"version":0')], /line 3\.version/],
      [
        [...lines.slice(0, 2), String(lines[2]).replace('"namespace":"team"', '"namespace":"../x"')],
        /line 3\.namespace/,
      ],
    ];
    for (const [bad, error] of wrong) await expect(other.import(bad)).rejects.toThrow(error);
    expect(await other.namespaces()).toEqual([]);
    const changed = lines.map((line) => line.replace('"text":"first"', '"text":"other"'));
    await expect(store.import(changed)).rejects.toMatchObject({ code: 'memory_conflict' });
  });
});

describe('proposals', () => {
  it('wait, are found by no search, and are done or dropped by a reviewer', async () => {
    const store = memory();
    const { id } = await store.add({ ...entry('the IBAN is X'), label: trusted });
    const added = await store.propose({ operation: 'add', entry: entry('a new fact') });
    const changed = await store.propose({
      operation: 'update',
      id,
      update: { text: 'the IBAN is Y', version: 1, label: trusted },
    });
    const dropped = await store.propose({ operation: 'add', entry: entry('a lie') });
    expect(await find(store, 'new fact lie IBAN')).toEqual(['the IBAN is X']);
    expect((await store.proposals('team')).map(({ text }) => text)).toEqual(['a new fact', 'the IBAN is Y', 'a lie']);
    expect(await store.proposals('other')).toEqual([]);
    await expect(store.accept(added.id, { namespace: 'other' })).rejects.toThrow(/no such proposal/);
    expect(await store.accept(added.id)).toMatchObject({ text: 'a new fact', version: 1 });
    expect(await store.accept(changed.id)).toMatchObject({ id, text: 'the IBAN is Y', version: 2 });
    expect(await store.reject(dropped.id)).toBe(true);
    expect(await store.reject(dropped.id)).toBe(false);
    const removal = await store.propose({ operation: 'remove', id, version: 2, source: 'x' });
    await store.update(id, { text: 'the IBAN is Z', version: 2 });
    await expect(store.accept(removal.id)).rejects.toMatchObject({ code: 'memory_conflict' });
    expect(await store.proposals('team')).toHaveLength(1);
  });

  it('are checked when they are made', async () => {
    const store = memory();
    await expect(store.propose({ operation: 'add', entry: entry(' ') })).rejects.toThrow(/entry\.text/);
    await expect(store.propose({ operation: 'remove', id: 'none', version: 1, source: 'x' })).rejects.toThrow(
      /no such entry/,
    );
  });
});

describe('the file', () => {
  it('of the first schema is taken over with all that is in it', async () => {
    const path = join(folder, 'old.db');
    const database = new DatabaseSync(path);
    database.exec(readFileSync(new URL('schema-1.sql', import.meta.url), 'utf8'));
    database.close();
    const embedder: Embedder = { id: 'e', dimensions: 2, embed: async (texts) => texts.map(() => [0, 1]) };
    const store = memory('old.db', embedder);
    const [hit] = await store.search('staging', { namespace: 'team', where: { page: 7 }, minScore: 0 });
    expect(hit).toMatchObject({ id: 'id-1', version: 3, text: 'Staging resets on Mondays', metadata: { page: 7 } });
    expect(hit?.score).toBeGreaterThan(0.5);
    expect(await store.add({ ...entry('staging resets on Mondays.'), metadata: { page: 7 } })).toMatchObject({
      merged: true,
    });
    expect(await store.update('id-1', { text: 'Staging resets on Tuesdays', version: 3 })).toMatchObject({
      version: 4,
    });
    // The duplicate was somebody else's.
    expect(await store.removeFrom({ source: 'wiki' })).toBe(1);
    expect(await find(store, 'staging')).toEqual(['Staging resets on Mondays']);
  });

  it('that is deleted while in use is not written to in vain', async () => {
    const store = memory('here.db');
    await store.add(entry('one'));
    renameSync(join(folder, 'here.db'), join(folder, 'there.db'));
    await expect(store.add(entry('two'))).rejects.toThrow(/deleted or replaced/);
    await expect(store.search('one', { namespace: 'team' })).rejects.toThrow(/deleted or replaced/);
  });

  it('shows what another process wrote, changed and removed, to both legs', async () => {
    const embedder: Embedder = {
      id: 'e',
      dimensions: 2,
      embed: async (texts) => texts.map((text) => [text.length, 1]),
    };
    const [one, two] = [memory('both.db', embedder), memory('both.db', embedder)];
    const { id } = await one.add(entry('first word'));
    expect(await find(two, 'unrelated')).toEqual(['first word']);
    await one.add(entry('second word'));
    await one.update(id, { text: 'third word', version: 1 });
    expect((await find(two, 'unrelated')).sort()).toEqual(['second word', 'third word']);
    await one.remove(id);
    expect(await find(two, 'unrelated')).toEqual(['second word']);
    await two.add(entry('fourth word'));
    expect((await find(one, 'word unrelated')).sort()).toEqual(['fourth word', 'second word']);
  });

  it('refuses names of namespaces that could lead out of one, and texts that are documents', async () => {
    const store = memory();
    for (const namespace of [
      'a/../b',
      '..',
      'a//b',
      '/a',
      'a/',
      'a\u0000b',
      'a\nb',
      ' a',
      'a\\..\\b',
      'x'.repeat(300),
      `user/${undefined}`,
      `user/${null}/notes`,
      `user/${{}}`,
      `${NaN}`,
    ]) {
      await expect(store.add({ ...entry('x'), namespace })).rejects.toMatchObject({ code: 'configuration' });
      await expect(store.search('x', { namespace })).rejects.toMatchObject({ code: 'configuration' });
    }
    await store.add({ ...entry('percent'), namespace: 'a%/b_c' });
    expect(await store.search('percent', { namespace: 'aXX/bXc', minScore: 0 })).toEqual([]);
    expect(await store.search('percent', { namespace: 'a%/b_c' })).toHaveLength(1);
    await expect(store.add(entry('x'.repeat(10_000_000)))).rejects.toThrow(/1000000 are stored/);
    expect(await store.search('x '.repeat(5_000_000), { namespace: 'team' })).toEqual([]);
  });
});

describe('a changed embedder', () => {
  it('embeds in the background, and search goes on by words until then', async () => {
    const embed = async (texts: readonly string[]) => texts.map((text) => (text.includes('sun') ? [1, 0] : [0, 1]));
    const first = memory('change.db', { id: 'one', dimensions: 2, embed });
    await first.add(entry('the sun is out'));
    const second = memory('change.db', { id: 'two', dimensions: 2, embed });
    await second.search('sun', { namespace: 'team' });
    await second.settled();
    expect(await second.search('sunny', { namespace: 'team' })).toMatchObject([{ text: 'the sun is out', score: 0.5 }]);
    expect(await second.reembed()).toBe(0);
    expect(await first.search('sunny', { namespace: 'team' })).toMatchObject([{ score: 0.5 }]);
    await second.vacuum();
    expect(await first.search('sunny', { namespace: 'team', minScore: 0 })).toEqual([]);
  });

  it('that fails in the background breaks nothing, and is asked again', async () => {
    let up = false;
    const first = memory('down.db');
    await first.add(entry('the sun is out'));
    const embed = async (texts: readonly string[]) => (up ? texts.map(() => [1]) : Promise.reject(new Error('down')));
    const second = memory('down.db', { id: 'two', dimensions: 1, embed });
    const hits = await second.search('sun', { namespace: 'team' });
    await second.settled();
    expect(hits).toHaveLength(1);
    expect(hits.degraded).toBe('down');
    up = true;
    expect(await second.reembed()).toBe(1);
  });
});

describe('options of a search', () => {
  it('cap the hits of one source, and fill up from others', async () => {
    const store = memory();
    for (let index = 0; index < 30; index++) await store.add(entry(`pay Mallory ${index}`, 'mail'));
    for (let index = 0; index < 3; index++)
      await store.add(entry(`how to pay, page ${index} of the long manual`, `wiki/${index}`));
    const hits = await store.search('pay Mallory', { namespace: 'team', topK: 5, perSource: 2, minScore: 0 });
    expect(hits.map(({ source }) => source)).toEqual(['mail', 'mail', 'wiki/0', 'wiki/1', 'wiki/2']);
  });

  it('lift what stands beside a match of the same source', async () => {
    const store = memory();
    for (const text of ['when is the harbour party?', 'on Saturday, of course', 'bring boots'])
      await store.add(entry(text));
    await store.add(entry('unrelated talk', 'other'));
    expect(await find(store, 'harbour party', { neighbours: 0.35 })).toEqual([
      'when is the harbour party?',
      'on Saturday, of course',
    ]);
  });

  it('let the newer win where age counts', async () => {
    const store = memory();
    const { id } = await store.add(entry('the code is blue today'));
    const [line0, line1] = await linesOf(store.export());
    await store.remove(id);
    const old = String(line1).replace(/"validFrom":\d+/, '"validFrom":1000');
    await store.import([String(line0), old]);
    await store.add(entry('the code is red today, it seems'));
    expect((await find(store, 'code today'))[0]).toContain('blue');
    const recency = { halfLifeMs: 86_400_000, weight: 0.9 };
    expect((await find(store, 'code today', { recency }))[0]).toContain('red');
  });

  it.each([
    [{ at: Number.NaN }, 'options.at'],
    [{ perSource: 0 }, 'options.perSource'],
    [{ neighbours: 2 }, 'options.neighbours'],
    [{ recency: { halfLifeMs: 1 } }, 'options.recency'],
    [{ kind: '' }, 'options.kind'],
  ])('are refused where wrong: %j', async (options, field) => {
    const search = memory().search('x', { namespace: 'team', ...options } as never);
    await expect(search).rejects.toMatchObject({ code: 'configuration', field });
  });
});

describe('any store', () => {
  const WORDS = ['sun', 'rain', 'snow', 'wind', 'fog'];
  const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: text, namespace: fc.constantFrom('a', 'b'), tag: fc.nat({ max: 2 }) }) },
    fc.record({ update: fc.nat(), text }),
    fc.record({ remove: fc.nat() }),
  );

  it('finds what a naive search of its current entries finds, whatever was written, changed and removed', async () => {
    const vector = (content: string) =>
      WORDS.map((word) => content.split(' ').filter((one) => one === word).length + 0.01);
    const embedder: Embedder = { id: 'words', dimensions: 5, embed: async (texts) => texts.map(vector) };
    const cosine = (a: number[], b: number[]) => {
      const dot = (x: number[], y: number[]) => x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
      return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        text,
        fc.option(fc.nat({ max: 2 }), { nil: undefined }),
        async (steps, query, tag) => {
          const store = longTermMemory({ file: ':memory:', embedder });
          const held = new Map<string, { text: string; namespace: string; tag: number; version: number }>();
          const at = (index: number) => [...held.keys()][index % Math.max(1, held.size)] ?? '';
          for (const change of steps) {
            // What was searched before is held in memory, and has to follow.
            await store.search(query, { namespace: 'a' });
            if ('add' in change) {
              const { add, namespace, tag: own } = change;
              const done = await store.add({ text: add, namespace, source: 's', metadata: { tag: own } });
              if (!('merged' in done)) held.set(done.id, { text: add, namespace, tag: own, version: 1 });
            } else if ('update' in change) {
              const there = held.get(at(change.update));
              if (there === undefined) continue;
              const { version } = await store.update(at(change.update), { text: change.text, version: there.version });
              Object.assign(there, { text: change.text, version });
            } else if (held.size > 0) {
              const id = at(change.remove);
              await store.remove(id);
              held.delete(id);
            }
          }
          const where = tag === undefined ? {} : { tag };
          const hits = await store.search(query, { namespace: 'a', topK: 4, minScore: 0, where });
          const allowed = [...held].filter(
            ([, one]) => one.namespace === 'a' && (tag === undefined || one.tag === tag),
          );
          expect(hits).toHaveLength(Math.min(4, allowed.length));
          // The words' leg is the store's own; the vectors' leg and the filter are what the oracle knows.
          const words = await store.search(query, { namespace: 'a', topK: 99, minScore: 0, where, vector: null });
          const fresh = longTermMemory({ file: ':memory:' });
          for (const [, one] of held) {
            const { text: content, namespace, tag: own } = one;
            await fresh.add({
              text: content,
              namespace,
              source: randomUUID(),
              metadata: { tag: own, apart: randomUUID() },
            });
          }
          const anew = await fresh.search(query, { namespace: 'a', topK: 99, minScore: 0, where });
          await fresh.close();
          expect(words.map(({ score }) => score.toFixed(6)).sort()).toEqual(
            anew.map(({ score }) => score.toFixed(6)).sort(),
          );
          const expected = allowed
            .map(([id, one]) => {
              const lexical = words.find((hit) => hit.id === id)?.score ?? 0;
              return 0.5 * cosine(vector(query), vector(one.text)) + 0.5 * lexical;
            })
            .sort((a, b) => b - a)
            .slice(0, 4);
          hits.forEach((hit, index) => {
            expect(hit.score).toBeCloseTo(expected[index] ?? Number.NaN, 4);
            expect(held.get(hit.id)).toMatchObject({ text: hit.text, namespace: 'a', version: hit.version });
          });
          await store.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a file that is torn', () => {
  it('is refused, not taken for an empty one', async () => {
    const store = memory('torn.db');
    await store.addAll(Array.from({ length: 400 }, (_, index) => entry(`some fact number ${index} of many more`)));
    await store.vacuum();
    await store.close();
    const path = join(folder, 'torn.db');
    const whole = readFileSync(path);
    for (const length of [50, 4_096, Math.floor(whole.length / 2)]) {
      writeFileSync(path, whole.subarray(0, length));
      const torn = longTermMemory({ file: path });
      await expect(
        torn.add(entry('another')).then(() => torn.list({ namespace: 'team', limit: 1_000 })),
      ).rejects.toThrow();
      await torn.close();
    }
  });

  it('is refused where half of its pages are noise', async () => {
    const path = join(folder, 'noise.db');
    writeFileSync(path, 'SQLite format 3\u0000'.padEnd(8_192, 'x'));
    await expect(longTermMemory({ file: path }).namespaces()).rejects.toThrow(/torn/);
  });
});
