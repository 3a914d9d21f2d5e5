import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../src/core/values/json.ts';
import type { FreshRow } from '../../src/journal/record-store.ts';
import { RequestParts, WholeRequests } from '../../src/journal/sqlite/request-parts.ts';
import { journal, type StoredRow } from '../support/journals.ts';

const hash = fc.constantFrom('a', 'b', 'c');
const request = fc.record(
  {
    model: hash,
    instructions: hash,
    tools: hash,
    messages: hash,
    output: hash,
    constructor: hash,
    trace: fc.constantFrom({ of: 1 }, { of: 2, facts: { description: 'd' } }),
  },
  { requiredKeys: ['model', 'messages'] },
);
const key = fc.constantFrom('lead/1/model', 'lead/2/model', 'lead/2.0/mate/1/model', 'lead/2/@wrapup', 'model');
const event = fc.constantFrom('started', 'done');
const kind = fc.constantFrom('model', 'tool');

test('what is stored of requests gives them back as they were', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ kind, key, event, request }), { maxLength: 30 }), (asked) => {
      const parts = new RequestParts();
      const whole = new WholeRequests();
      asked.forEach((one, index) => {
        const row = { ...one, record: index + 1 } as unknown as FreshRow;
        const stored = JSON.parse(JSON.stringify(parts.shorten(row))) as Json;
        expect(whole.of(row, stored)).toEqual(one.request);
      });
    }),
  );
});

test('a request that is no object of texts is kept as it is', () => {
  const parts = new RequestParts();
  for (const given of [undefined, null, 'text', ['a'], 5]) {
    const row = { kind: 'model', event: 'started', key: 'lead/1/model', record: 1, request: given } as FreshRow;
    expect(parts.shorten(row)).toBe(given);
  }
});

test('a file holds what stays the same once, and a fork has it too', async () => {
  const store = journal();
  const steady = { model: 'm', instructions: 'i'.repeat(64), tools: 't'.repeat(64), settings: 's'.repeat(64) };
  const row = (record: number): StoredRow => ({
    ...{ record, key: `lead/${record}/model`, kind: 'model', event: 'started', attempt: 1, epoch: 1, step: record },
    ...{ time: BigInt(record), request: { ...steady, messages: String(record).repeat(64) } },
  });
  const rows = [row(1), row(2), row(3)];
  const log = await store.create({ id: 'r1', agent: 'lead' });
  for (const one of rows) log.append(one);
  await log.commit();
  expect((await store.read('r1'))?.rows).toEqual(rows);
  const next = await store.open('r1', { takeover: true });
  next.append({ ...row(4), epoch: 2 });
  await next.close('completed', null, []);
  const all = (await store.read('r1'))?.rows ?? [];
  expect(all).toEqual([...rows, { ...row(4), epoch: 2 }]);
  const fork = await store.create({
    id: 'r2',
    agent: 'lead',
    rows: all.slice(1).map((one, at) => ({ ...one, record: at + 1 })),
  });
  fork.abandon();
  expect((await store.read('r2'))?.rows.map(({ request: kept }) => kept)).toEqual(
    all.slice(1).map(({ request: kept }) => kept),
  );
});
