import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LongTermMemory, longTermMemory, type Memory } from 'coxswain/memory';
import fc from 'fast-check';
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

/** What may be done to a memory whose texts say whose words they hold: `s1w7` is the seventh word, of source 1. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), source: fc.nat(2) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('merge' as const), a: fc.nat(20), b: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), a: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), a: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), a: fc.nat(20), old: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('source' as const), source: fc.nat(2) }) },
);

it('nothing that was removed is left in any version, whatever was merged, closed and undone before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const memory = longTermMemory({ file: ':memory:' });
      const versions = async () => {
        const lines: string[] = [];
        for await (const line of memory.export()) lines.push(line);
        return lines.slice(1).map((line) => JSON.parse(line) as Memory);
      };
      const ids: string[] = [];
      const gone = new Set<string>();
      let names = 0;
      for (const one of steps) {
        const current = await memory.list({ namespace: 'team' });
        const at = (index: number) => current[index % Math.max(1, current.length)];
        const changed = async (entries: (Memory | undefined)[], text?: string) => {
          const read = entries.flatMap((entry) => (entry ? [{ id: entry.id, version: entry.version }] : []));
          await memory.consolidated(`n${++names}`, 'team', [
            { entries: read, ...(text === undefined ? {} : { text }) },
          ]);
        };
        if (one.do === 'add') {
          const text = `s${one.source}w${ids.length}`;
          ids.push((await memory.add({ text, namespace: 'team', source: `s${one.source}` })).id);
        } else if (one.do === 'merge') {
          if (at(one.a)?.id !== at(one.b)?.id)
            await changed([at(one.a), at(one.b)], `${at(one.a)?.text} ${at(one.b)?.text}`);
        } else if (one.do === 'close') await changed([at(one.a)]);
        else if (one.do === 'undo') await memory.undo(`n${1 + (one.a % Math.max(1, names))}`);
        else if (one.do === 'source') {
          await memory.removeFrom({ source: `s${one.source}` });
          expect((await versions()).filter(({ text }) => text.includes(`s${one.source}w`))).toEqual([]);
        } else {
          const id = (one.old ? ids[one.a % Math.max(1, ids.length)] : at(one.a)?.id) ?? 'none';
          // An entry that is not current is known by its own word: what else it holds may be current elsewhere.
          const texts = one.old
            ? (await memory.history(id)).flatMap(({ text }) => (text.includes(' ') ? [] : [text]))
            : [at(one.a)?.text ?? ''];
          for (const word of texts.flatMap((text) => text.split(' '))) if (word !== '') gone.add(word);
          await memory.remove(id);
        }
        for (const { text } of await versions()) for (const word of text.split(' ')) expect(gone).not.toContain(word);
        const now = (await memory.list({ namespace: 'team' })).flatMap(({ text }) => text.split(' '));
        // What is said is said once.
        expect(new Set(now).size).toBe(now.length);
      }
      await memory.close();
    }),
    { numRuns: 100 },
  );
});
