import { join } from 'node:path';
import { replayRun, resumeRun, runAgent } from 'coxswain';
import { expect, test } from 'vitest';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { checkRace } from '../crash/check-race.ts';
import { doneOutside, regatta } from '../crash/race.ts';
import { folder } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';

test('killed after any record, a decided race or quorum stays decided and its losers stay stopped', {
  timeout: 120_000,
}, async () => {
  const store = inMemoryStore();
  const outside = join(folder(), 'outside');
  const { lead, model, options } = regatta(outside);
  const whole = await runAgent(lead, 'Go', { ...options, model, journal: store, runId: 'r1' });
  const { rows = [] } = (await store.read('r1')) ?? {};
  const marks = doneOutside(outside);
  checkRace({ rows: [], outside: [] }, { rows, outside: marks }, whole, whole);
  expect(Object.values(whole.tree.children.map(({ status }) => status))).toEqual([
    ...['cancelled', 'completed', 'cancelled'],
    ...['cancelled', 'completed', 'cancelled'],
    'completed',
  ]);
  expect(rows.length).toBeGreaterThan(80);
  for (const count of someNumbers(1, rows.length - 1, 20)) {
    const half = inMemoryStore();
    (await half.create({ id: 'r1', agent: 'lead', rows: rows.slice(0, count) })).abandon();
    const again = join(folder(), 'outside');
    const other = regatta(again);
    const result = await resumeRun(other.lead, 'r1', { ...other.options, model: other.model, journal: half }).result;
    const now = (await half.read('r1'))?.rows ?? [];
    try {
      checkRace({ rows: rows.slice(0, count), outside: [] }, { rows: now, outside: doneOutside(again) }, result, whole);
    } catch (cause) {
      throw new Error(`killed after record ${count}: ${rows[count - 1]?.event} ${rows[count - 1]?.key}`, { cause });
    }
  }
  const replayed = await replayRun(lead, { journal: store, runId: 'r1' }).result;
  expect(replayed.messages).toEqual(whole.messages);
});
