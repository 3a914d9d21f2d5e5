import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { runAgent } from 'coxswain';
import { consolidation, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fileFailure } from '../../src/memory/file/memory-file.ts';

// What another process has locked is waited for; five seconds are for a user, not for a test.
vi.mock('../../src/memory/file/memory-file.ts', async (original) => ({ ...(await original<object>()), WRITE_MS: 300 }));

const open: LongTermMemory[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function memory(file = ':memory:'): LongTermMemory {
  const store = longTermMemory({ file });
  open.push(store);
  return store;
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

const entry = { text: 'a fact', namespace: 'team', source: 'x' };
let deep: unknown = 1;
for (let level = 0; level < 100_000; level++) deep = [deep];

describe('what is no argument', () => {
  // An object would be taken for the named parameters of a statement.
  const calls: [string, string, (store: LongTermMemory) => Promise<unknown>][] = [
    ['get of an object', 'id', (store) => store.get({ id: 'x' } as never)],
    ['history of a list', 'id', (store) => store.history([] as never)],
    ['remove of nothing', 'id', (store) => store.remove(undefined as never)],
    ['update of a number', 'id', (store) => store.update(3 as never, { text: 'x', version: 1 })],
    ['accept of nothing', 'id', (store) => store.accept(undefined as never)],
    ['reject of an object', 'id', (store) => store.reject({} as never)],
    ['undo of nothing', 'undo.name', (store) => store.undo(undefined as never)],
    ['a proposal of nothing', 'proposal', (store) => store.propose(null as never)],
    ['another proposal', 'proposal.operation', (store) => store.propose({ operation: 'drop' } as never)],
    ['a source that is no text', 'provenance.source', (store) => store.removeFrom({ source: 3 as never })],
    ['an export out of a namespace', 'export.namespace', (store) => all(store.export({ namespace: 'a/../b' }))],
    ['changes that are no list', 'changes', (store) => store.consolidated('n', 'team', 3 as never)],
    [
      'a change without a version',
      'changes[0].entries[0].version',
      (store) => store.consolidated('n', 'team', [{ entries: [{ id: 'x' } as never] }]),
    ],
    ['metadata that never ends', 'entry.metadata', (store) => store.add({ ...entry, metadata: { deep } as never })],
    [
      'a where that never ends',
      'options.where',
      (store) => store.search('x', { ...{ namespace: 'team' }, where: { deep } as never }),
    ],
  ];
  it.each(calls)('is refused by its field: %s', async (_, field, call) => {
    const store = memory();
    await store.add(entry);
    await expect(call(store)).rejects.toMatchObject({ code: 'configuration', field });
    expect(await store.list({ namespace: 'team' })).toHaveLength(1);
  });
});

it('keys of metadata that have a meaning to JavaScript or SQL are keys like others', async () => {
  const store = memory();
  const metadata = JSON.parse(`{"__proto__":{"x":1},"constructor":2,"a' OR '1'='1":3,"%":4}`);
  const { id } = await store.add({ ...entry, metadata });
  await store.add({ ...entry, text: 'another fact' });
  for (const [key, value] of Object.entries(metadata)) {
    const where = JSON.parse(JSON.stringify({ [key]: value })) as never;
    const hits = await store.search('fact', {
      namespace: 'team',
      where: key === '__proto__' ? (JSON.parse('{"__proto__":{"x":1}}') as never) : where,
    });
    expect(hits.map((hit) => hit.id)).toEqual([id]);
  }
  expect(({} as { x?: number }).x).toBeUndefined();
});

describe('a file that fails', () => {
  it('is named, with what can be done; what is no failure of a file stays as it is', () => {
    for (const [errcode, problem] of [
      [5, /locked/],
      [5 | (2 << 8), /locked/],
      [8, /cannot be written/],
      [11, /torn/],
      [13, /does not fit/],
      [26, /no SQLite file/],
    ] as const) {
      const told = fileFailure(Object.assign(new Error('raw'), { errcode }), 'memory.db');
      expect(told).toMatchObject({ code: 'configuration', field: 'file', message: expect.stringMatching(problem) });
    }
    for (const other of [new Error('x'), undefined, Object.assign(new Error('constraint'), { errcode: 19 })]) {
      expect(fileFailure(other, 'memory.db')).toBe(other);
    }
  });

  it('is opened by a later call, where another process had it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-locked-'));
    const other = new DatabaseSync(join(folder, 'memory.db'));
    other.exec('BEGIN EXCLUSIVE; CREATE TABLE x (y)');
    const store = memory(join(folder, 'memory.db'));
    await expect(store.namespaces()).rejects.toThrow(/is locked by another process/);
    other.exec('ROLLBACK');
    other.close();
    expect(await store.namespaces()).toEqual([]);
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('is the same one where the process changes its folder', async () => {
    const before = process.cwd();
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-folder-'));
    const store = memory(relative(before, join(folder, 'memory.db')));
    await store.add(entry);
    try {
      process.chdir(folder);
      await store.add({ ...entry, text: 'another fact' });
    } finally {
      process.chdir(before);
    }
    expect(await store.list({ namespace: 'team' })).toHaveLength(2);
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('fails a consolidation, not whoever runs it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-locked-'));
    const store = memory(join(folder, 'memory.db'));
    for (const text of ['one', 'two']) await store.add({ ...entry, text });
    const other = new DatabaseSync(join(folder, 'memory.db'));
    other.exec('BEGIN IMMEDIATE');
    const model = scriptedModel([JSON.stringify({ merge: [{ entries: [1, 2], text: 'both' }], outdated: [] })]);
    const result = await runAgent(consolidation(store, { namespace: 'team', model }), {});
    expect(result).toMatchObject({ status: 'model_error', error: { message: expect.stringMatching(/is locked/) } });
    other.exec('ROLLBACK');
    other.close();
    expect(await store.list({ namespace: 'team' })).toHaveLength(2);
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
