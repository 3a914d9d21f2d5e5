import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LongTermMemory, longTermMemory, type Memory } from 'coxswain/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
let store: LongTermMemory;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-removal-'));
  store = longTermMemory({ file: join(folder, 'memory.db') });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const public_ = (origins: string[]) => ({ integrity: 'untrusted', confidentiality: 'public', origins }) as const;
const add = (text: string, source: string, more = {}) => store.add({ text, namespace: 'team', source, ...more });
const texts = async () => (await store.list({ namespace: 'team' })).map(({ text }) => text).sort();
const merge = (name: string, text: string, ...entries: (Pick<Memory, 'id' | 'version'> | undefined)[]) =>
  store.consolidated(name, 'team', [
    { entries: entries.flatMap((entry) => (entry ? [{ id: entry.id, version: entry.version }] : [])), text },
  ]);

/** Whether any file of the folder has these bytes, in whatever case. */
function isInFiles(word: string): boolean {
  return readdirSync(folder).some((name) => {
    const bytes = readFileSync(join(folder, name), 'latin1').toLowerCase();
    return bytes.includes(word.toLowerCase());
  });
}

describe('a source that is removed', () => {
  it('leaves nothing in what was merged of a merged text, in whatever order that is taken apart', async () => {
    const tea = await add('Ada likes tea', 'a');
    const poison = await add('Ada likes zyzzogeton', 'b');
    const daily = await add('Ada drinks tea daily', 'c');
    await merge('first', 'Ada likes tea and zyzzogeton', tea, poison);
    await merge('second', 'Ada likes tea daily and zyzzogeton', await store.get(tea.id), daily);
    expect(await texts()).toEqual(['Ada likes tea daily and zyzzogeton']);
    await store.removeFrom({ source: 'b' });
    expect(await texts()).toEqual(['Ada drinks tea daily', 'Ada likes tea']);
    await store.vacuum();
    expect(isInFiles('zyzzogeton')).toBe(false);
  });

  it('takes its origins out of the label of what others said too', async () => {
    await add('The door is blue', 'mail', { label: public_(['mail', 'web']) });
    await add('The door is blue', 'wiki', { label: public_(['wiki']) });
    await store.removeFrom({ source: 'mail' });
    expect(await store.list({ namespace: 'team' })).toMatchObject([{ source: 'wiki', label: public_(['wiki']) }]);
    expect(await store.removeFrom({ origin: 'wiki' })).toBe(1);
  });

  it('is known by every origin under which it said the same', async () => {
    await add('The door is blue', 'mail', { label: public_(['first']) });
    await add('The door is blue', 'mail', { label: public_(['second']) });
    expect(await store.removeFrom({ origin: 'second' })).toBe(1);
    expect(await texts()).toEqual([]);
  });

  it('takes along what of it waits for a reviewer, there and nowhere else', async () => {
    const propose = (text: string, namespace: string, source: string, origins: string[] = []) =>
      store.propose({ operation: 'add', entry: { text, namespace, source, label: public_(origins) } });
    await propose('zyzzogeton', 'team', 'mail');
    await propose('zyzzogeton', 'team', 'other', ['mail']);
    await propose('stays', 'team', 'wiki');
    await propose('stays', 'else', 'mail');
    expect(await store.removeFrom({ source: 'mail', namespace: 'team' })).toBe(1);
    expect(await store.removeFrom({ origin: 'mail' })).toBe(1);
    expect((await store.proposals('team')).map(({ text }) => text)).toEqual(['stays']);
    expect(await store.proposals('else')).toHaveLength(1);
    expect(isInFiles('zyzzogeton')).toBe(false);
  });
});

describe('an entry that is removed', () => {
  it('takes along what it was merged from, at whatever depth, so that nothing brings it back', async () => {
    const [one, two, three] = [
      await add('Elm one', 'a'),
      await add('zyzzogeton two', 'b'),
      await add('Elm three', 'c'),
    ];
    await merge('first', 'Elm one and two', one, two);
    await merge('second', 'Elm one to three', await store.get(one.id), three);
    await store.remove(one.id);
    expect([await store.undo('second'), await store.undo('first')]).toEqual([0, 0]);
    expect(await texts()).toEqual([]);
    expect(await store.history(two.id)).toEqual([]);
    expect(isInFiles('zyzzogeton')).toBe(false);
  });

  it('is taken out of what it was merged into: the others are there again', async () => {
    const [one, two, three] = [
      await add('Elm one', 'a'),
      await add('zyzzogeton two', 'b'),
      await add('Elm three', 'c'),
    ];
    await merge('first', 'Elm one and zyzzogeton two', one, two);
    await merge('second', 'Elm one, zyzzogeton two, three', await store.get(one.id), three);
    await store.remove(two.id);
    expect(await texts()).toEqual(['Elm one', 'Elm three']);
    await store.vacuum();
    expect(isInFiles('zyzzogeton')).toBe(false);
  });

  it('leaves what stands by itself since a consolidation was undone', async () => {
    const [one, two] = [await add('Elm one', 'a'), await add('Elm two', 'b')];
    await merge('first', 'Elm one and two', one, two);
    await store.undo('first');
    await store.remove(one.id);
    expect(await texts()).toEqual(['Elm two']);
  });

  it('takes along the changes that wait for it', async () => {
    const { id } = await add('Elm one', 'a');
    await store.propose({ operation: 'update', id, update: { text: 'zyzzogeton', version: 1 } });
    await store.propose({ operation: 'add', entry: { text: 'another', namespace: 'team', source: 'a' } });
    await store.remove(id);
    expect((await store.proposals('team')).map(({ text }) => text)).toEqual(['another']);
    expect(isInFiles('zyzzogeton')).toBe(false);
  });

  it('is in no file once nobody reads what was there before, though somebody did when it was removed', async () => {
    const { id } = await add('zyzzogeton', 'a');
    const reader = new DatabaseSync(join(folder, 'memory.db'));
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM versions').get();
    const began = performance.now();
    await store.remove(id);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(isInFiles('zyzzogeton')).toBe(true);
    reader.exec('COMMIT');
    await add('something else', 'a');
    expect(isInFiles('zyzzogeton')).toBe(false);
    reader.close();
  });
});

it("what a filter by metadata keeps apart is not merged: it may be two persons'", async () => {
  const ada = await add('There is a boat', 'a', { metadata: { user: 'ada' } });
  const bob = await add('There is a boat', 'a', { metadata: { user: 'bob' } });
  const twin = await add('A boat is there', 'a', { metadata: { user: 'bob' } });
  expect(await merge('first', 'Two boats', ada, bob)).toMatchObject({ merged: 0, skipped: 1 });
  expect(await merge('second', 'Bob has a boat', bob, twin)).toMatchObject({ merged: 1, skipped: 0 });
  const seen = await store.search('boat', { namespace: 'team', where: { user: 'ada' } });
  expect(seen.map(({ text }) => text)).toEqual(['There is a boat']);
});
