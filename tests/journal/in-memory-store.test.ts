import { ConfigurationError, FencedError, resumeRun, runAgent } from 'coxswain';
import { describe, expect, test } from 'vitest';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { voyage } from '../crash/voyage.ts';
import type { StoredRow } from '../support/journals.ts';

const row = (record: number): StoredRow => ({
  ...{ record, key: `lead/${record}/model`, kind: 'model', event: 'done', attempt: 1, epoch: 1, step: record },
  ...{ time: BigInt(record), traceId: '', spanId: '', value: record },
});

describe('a store in memory', () => {
  test('keeps a run that parked, and the same goes on', async () => {
    const journal = inMemoryStore();
    const { lead, model, options } = voyage('/dev/null', 'retry');
    const { approve: _, ...unasked } = options;
    const first = await runAgent(lead, 'Sail', { ...unasked, model, journal, runId: 'r1' });
    const pending = first.status === 'suspended' ? first.pending.map(({ id }) => id) : [];
    expect(pending).toEqual(['lead/2.0/@approval']);
    const signal = { kind: 'decision', id: 'lead/2.0/@approval', decision: { decision: 'allow' } } as const;
    expect([await journal.signal('r1', signal), await journal.signal('r1', signal)]).toEqual([true, false]);
    const second = await resumeRun(lead, 'r1', { ...unasked, model, journal }).result;
    const whole = await runAgent(lead, 'Sail', { ...options, model, runId: 'r1' });
    expect([second.status, second.text.replace(/0\.\d+/g, 'n'), second.usage]).toEqual([
      whole.status,
      whole.text.replace(/0\.\d+/g, 'n'),
      whole.usage,
    ]);
  });

  test('takes values as they are when they are appended', async () => {
    const store = inMemoryStore();
    const log = await store.create({ id: 'r1', agent: 'lead' });
    const value = { list: [1], when: new Date(0), gone: undefined };
    log.append({ ...row(1), value });
    value.list.push(2);
    await log.close('completed', value, [value]);
    value.list.push(3);
    const stored = await store.read('r1');
    expect(stored?.rows[0]?.value).toEqual({ list: [1], when: '1970-01-01T00:00:00.000Z' });
    expect(stored?.result).toEqual({ list: [1, 2], when: '1970-01-01T00:00:00.000Z' });
    expect(stored?.pending).toEqual([stored?.result]);
  });

  test('has one owner of a run, and an old one writes nothing more', async () => {
    const store = inMemoryStore();
    const first = await store.create({ id: 'r1', agent: 'lead' });
    await expect(store.create({ id: 'r1', agent: 'lead' })).rejects.toThrow(ConfigurationError);
    await expect(store.open('r1')).rejects.toThrow(FencedError);
    first.append(row(1));
    const second = await store.open('r1', { takeover: true });
    const failures: Error[] = [];
    first.onFailure = (error) => failures.push(error);
    first.append(row(2));
    await expect(first.commit()).rejects.toThrow(FencedError);
    expect(failures).toHaveLength(1);
    await second.commit();
    expect([second.epoch, (await store.read('r1'))?.rows.length]).toEqual([2, 1]);
    await expect(store.open('r1', { takeover: true, epoch: 1 })).rejects.toThrow(FencedError);
    await expect(store.open('r2')).rejects.toThrow('no run');
  });

  test('forgets runs that ended before a time', async () => {
    const store = inMemoryStore();
    const log = await store.create({ id: 'r1', agent: 'lead' });
    await store.create({ id: 'r2', agent: 'lead' });
    await log.close('completed', { status: 'completed' }, []);
    expect(await store.prune(Date.now() + 1)).toEqual(['r1']);
    expect((await store.list()).map(({ id, status }) => [id, status])).toEqual([['r2', 'running']]);
  });
});
