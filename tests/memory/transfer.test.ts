import { type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { afterEach, expect, it } from 'vitest';

const open: LongTermMemory[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function memory(): LongTermMemory {
  const store = longTermMemory({ file: ':memory:' });
  open.push(store);
  return store;
}

const entry = (text: string, more = {}) => ({ text, namespace: 'team', source: 'test', ...more });

it('an export is of the moment it began, whatever is written while it is read', async () => {
  const store = memory();
  const [one, two, three] = await store.addAll([entry('one'), entry('two'), entry('three', { key: 'k' })]);
  const lines: string[] = [];
  for await (const line of store.export()) {
    lines.push(line);
    if (lines.length !== 3) continue;
    await store.update(one?.id ?? '', { text: 'one, later', version: 1 });
    await store.remove(two?.id ?? '');
    await store.add(entry('three, later', { key: 'k' }));
    await store.add(entry('four'));
    expect(await store.get(three?.id ?? '')).toMatchObject({ version: 2 });
  }
  const copy = memory();
  await copy.import(lines);
  const texts = (await copy.list({ namespace: 'team' })).map(({ text }) => text);
  // What was read before it was removed was exported; the rest is as it was.
  expect(texts.sort()).toEqual(['one', 'three', 'two']);
});

it('an import names the line whose key another entry has, and takes none', async () => {
  const store = memory();
  await store.add(entry('before'));
  await store.add(entry('blue', { key: 'door' }));
  const lines: string[] = [];
  for await (const line of store.export()) lines.push(line);
  const other = memory();
  await other.add(entry('red', { key: 'door' }));
  await expect(other.import(lines)).rejects.toMatchObject({
    code: 'memory_conflict',
    message: expect.stringMatching(/line 3: .*"door"/),
  });
  expect(await other.list({ namespace: 'team' })).toHaveLength(1);
});

it('an import takes an old version of an entry whose current one is there, and of a key that another has by now', async () => {
  const store = memory();
  const { id } = await store.add(entry('first', { key: 'door', source: 'a' }));
  await store.update(id, { text: 'second', version: 1, source: 'b' });
  const lines: string[] = [];
  for await (const line of store.export()) lines.push(line);
  await store.removeFrom({ source: 'a' });
  expect(await store.history(id)).toHaveLength(1);
  expect(await store.import(lines)).toBe(1);
  expect((await store.history(id)).map(({ text, closedBy }) => [text, closedBy])).toEqual([
    ['first', 'update'],
    ['second', undefined],
  ]);
  const other = memory();
  await other.add(entry('red', { key: 'door' }));
  await other.import(lines.slice(0, 2));
  const hits = await other.search('first red', { namespace: 'team' });
  expect(hits.map(({ text }) => text)).toEqual(['red']);
  expect(await other.namespaces()).toEqual([{ name: 'team', entries: 1 }]);
});
