import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstDifference } from '../../src/cli/first-difference.ts';
import { runSteps } from '../../src/cli/run-steps.ts';
import type { StoredRun } from '../../src/journal/record-store.ts';
import type { Row } from '../../src/journal/row.ts';

type Given = Pick<Row, 'key' | 'kind' | 'event'> & Partial<Row>;

function stored(...given: readonly Given[]): StoredRun {
  const rows = given.map((row, index) => ({
    ...{ record: index + 1, attempt: 1, epoch: 1, time: BigInt(index) * 1_000_000n, step: 1, traceId: '', spanId: '' },
    ...row,
  }));
  const facts = { id: 'r', agent: 'a', status: 'completed', epoch: 1, created: 0, updated: 0, pending: [] };
  return { ...facts, records: rows.length, rows };
}

const model = (key: string, request: object, text: string): Given[] => [
  { key, kind: 'model', event: 'started', request: { ...request } },
  { key, kind: 'model', event: 'done', value: { content: [{ type: 'text', text }], stop: 'end' } },
];
const ONE = model('a/1/model', { instructions: 'x', messages: 'm' }, 'Hi');

test('equal runs have no difference, in whatever order their branches came', () => {
  const two = model('a/2/model', { instructions: 'x', messages: 'n' }, 'Ho');
  expect(firstDifference(stored(...ONE, ...two), stored(...two, ...ONE))).toBeUndefined();
});

test('a changed prompt is found before what followed from it', () => {
  const other = model('a/1/model', { instructions: 'y', messages: 'm' }, 'Ho');
  expect(firstDifference(stored(...ONE), stored(...other))).toEqual({
    ...{ key: 'a/1/model', kind: 'model', records: { a: 1, b: 1 }, where: 'request', parts: ['instructions'] },
    a: { instructions: 'x' },
    b: { instructions: 'y' },
  });
});

test('the ids that a provider drew for its calls, and messages that hold them, are no difference', () => {
  const asked = (id: string, args: string, messages: string): Given[] => [
    { key: 'a/1/model', kind: 'model', event: 'started', request: { instructions: 'x', messages: 'm' } },
    {
      ...{ key: 'a/1/model', kind: 'model', event: 'done' },
      value: {
        content: [{ type: 'tool_call', id, name: 't', arguments: args }],
        stop: 'tool_calls',
        native: { provider: 'p', turn: { id } },
        response: { id },
      },
    },
    ...model('a/2/model', { instructions: 'x', messages }, 'end'),
  ];
  const one = stored(...asked('call_1', '{}', 'with call_1'));
  expect(firstDifference(one, stored(...asked('call_2', '{}', 'with call_2')))).toBeUndefined();
  expect(firstDifference(one, stored(...asked('call_2', '{"n":1}', 'with call_2')))).toMatchObject({
    ...{ key: 'a/1/model', where: 'outcome', parts: ['content'] },
  });
  const edited = stored(...asked('call_1', '{}', 'with call_1 and more'));
  expect(firstDifference(one, edited)).toMatchObject({ key: 'a/2/model', where: 'request', parts: ['messages'] });
});

test('what only one run has is named with its side', () => {
  const more = stored(...ONE, { key: 'a/1.0', kind: 'tool', event: 'started', request: { tool: 't', args: {} } });
  expect(firstDifference(stored(...ONE), more)).toMatchObject({ key: 'a/1.0', where: 'missing', records: { b: 3 } });
  expect(firstDifference(more, stored(...ONE))).toMatchObject({ key: 'a/1.0', where: 'missing', records: { a: 3 } });
});

test('a failure is another outcome than a value', () => {
  const failed: Given = { key: 'a/1/model', kind: 'model', event: 'failed', value: { kind: 'auth', message: 'no' } };
  const [started] = ONE;
  if (started === undefined) throw new Error('no row');
  expect(firstDifference(stored(...ONE), stored(started, failed))).toMatchObject({
    where: 'outcome',
    parts: expect.arrayContaining(['error']),
  });
});

test('it finds a difference where, and only where, the records differ in some value', () => {
  const outcomes = fc.array(fc.string(), { maxLength: 6 });
  fc.assert(
    fc.property(outcomes, outcomes, (a, b) => {
      const rows = (texts: readonly string[]) =>
        stored(...texts.flatMap((text, index) => model(`a/${index}/model`, { messages: String(index) }, text)));
      const at = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index).find(
        (index) => a[index] !== b[index],
      );
      expect(firstDifference(rows(a), rows(b))?.key).toBe(at === undefined ? undefined : `a/${at}/model`);
    }),
  );
});

test('steps are below the nearest address that is there, and an interrupted call is no failure', () => {
  const steps = runSteps(
    stored(
      { key: 'a', kind: 'agent', event: 'started', request: { agent: 'a' } },
      ...ONE,
      { key: 'a/1.0', kind: 'tool', event: 'started', request: { tool: 't', args: { n: 1 } } },
      { key: 'a/1.0/@approval', kind: 'decision', event: 'done', value: { decision: 'deny' } },
      { key: 'a/1.0', kind: 'tool', event: 'cancel', value: { kind: 'cancelled', message: 'stopped' } },
      { key: 'a/2.0/b', kind: 'agent', event: 'started', request: { agent: 'b' } },
    ).rows,
  );
  expect(steps.map(({ key, depth, status }) => [key, depth, status])).toEqual([
    ['a', 0, 'open'],
    ['a/1/model', 1, 'done'],
    ['a/1.0', 1, 'interrupted'],
    ['a/1.0/@approval', 2, 'done'],
    ['a/2.0/b', 1, 'open'],
  ]);
});
