import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { longTermMemory, workingSummaries } from 'coxswain/memory';
import { describe, expect, it, vi } from 'vitest';
import { folder } from '../support/journals.ts';

// What another process has locked is waited for; five seconds are for a user, not for a test.
vi.mock('../../src/memory/file/memory-file.ts', async (original) => ({ ...(await original<object>()), WRITE_MS: 300 }));

const signal = new AbortController().signal;
const summary = (content: string) => ({ messages: [{ role: 'user' as const, content }], covers: 1, hash: 'h' });

describe('working summaries', () => {
  it('survive their process, the last save of an id counts, and what is removed is gone', async () => {
    const file = join(folder(), 'c.db');
    const first = workingSummaries({ file });
    await first.save('a', summary('one'), signal);
    await first.save('a', summary('two'), signal);
    await first.save('b/…\u0000', summary('three'), signal);
    first.close();
    const second = workingSummaries({ file });
    expect(await second.load('a', signal)).toEqual(summary('two'));
    expect(await second.load('b/…\u0000', signal)).toEqual(summary('three'));
    expect(await second.load('c', signal)).toBeUndefined();
    expect((await second.list()).map(({ id }) => id).toSorted()).toEqual(['a', 'b/…\u0000']);
    expect(await second.remove('a')).toBe(true);
    expect(await second.remove('a')).toBe(false);
    expect(await second.load('a', signal)).toBeUndefined();
    second.close();
  });

  it('are opened by a later call where another process had the file', async () => {
    const file = join(folder(), 'c.db');
    const other = new DatabaseSync(file);
    other.exec('BEGIN EXCLUSIVE; CREATE TABLE x (y)');
    const store = workingSummaries({ file });
    await expect(store.load('a', signal)).rejects.toThrow(/locked/);
    other.exec('ROLLBACK');
    other.close();
    expect(await store.load('a', signal)).toBeUndefined();
    await expect(store.load({ a: 1 } as never, signal)).rejects.toMatchObject({ field: 'conversation' });
    store.close();
  });

  it('that are removed while somebody reads are in no file after the next save', async () => {
    const at = folder();
    const store = workingSummaries({ file: join(at, 'c.db') });
    await store.save('a', summary('zyzzogeton'), signal);
    const isInFiles = () =>
      readdirSync(at).some((name) => readFileSync(join(at, name), 'latin1').includes('zyzzogeton'));
    const reader = new DatabaseSync(join(at, 'c.db'));
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM conversations').get();
    await store.remove('a');
    expect(isInFiles()).toBe(true);
    reader.exec('COMMIT');
    await store.save('b', summary('other'), signal);
    expect(isInFiles()).toBe(false);
    reader.close();
    store.close();
  });

  it('are shared by two that have the file open', async () => {
    const file = join(folder(), 'c.db');
    const stores = [workingSummaries({ file }), workingSummaries({ file })];
    await Promise.all(stores.map((store, at) => store.save(`c${at}`, summary(String(at)), signal)));
    for (const store of stores) expect(await store.list()).toHaveLength(2);
    for (const store of stores) store.close();
  });

  it('open nothing before their first use', () => {
    workingSummaries({ file: '/nowhere/at/all.db' }).close();
  });

  it('refuse what is not theirs and leave it as it is', async () => {
    const dir = folder();
    const memory = join(dir, 'memory.db');
    const notes = longTermMemory({ file: memory });
    await notes.add({ text: 'x', namespace: 'n', source: 's' });
    await notes.close();
    const text = join(dir, 'text.db');
    writeFileSync(text, 'not a database at all, only some text that is long enough to be read as a page');
    const newer = join(dir, 'newer.db');
    await workingSummaries({ file: newer }).save('a', summary('x'), signal);
    const database = new DatabaseSync(newer);
    database.exec('PRAGMA user_version = 9');
    database.close();
    const said = async (file: string) => workingSummaries({ file }).load('a', signal);
    await expect(said(memory)).rejects.toThrow('belongs to another program');
    await expect(said(text)).rejects.toThrow('cannot be opened, or is torn or locked');
    await expect(said(newer)).rejects.toThrow('has schema 9');
    await expect(said(join(dir, 'no', 'folder.db'))).rejects.toThrow('cannot be opened');
    expect(() => workingSummaries({} as never)).toThrow('workingSummaries.file');
    const closed = workingSummaries({ file: ':memory:' });
    closed.close();
    await expect(closed.load('a', signal)).rejects.toThrow('closed');
  });
});
