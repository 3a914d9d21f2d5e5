import { expect, test } from 'vitest';
import { editOf } from '../../src/cli/commands/fork-command.ts';
import { decisionOf } from '../../src/cli/decision-of.ts';
import { pointOf } from '../../src/cli/durable.ts';

test('without a word it is an allow, and each option says another decision', () => {
  expect(decisionOf({})).toEqual({ decision: 'allow' });
  expect(decisionOf({ reason: 'fine', args: '{"n":1}', always: true })).toEqual({
    decision: 'allow',
    reason: 'fine',
    args: { n: 1 },
    always: true,
  });
  expect(decisionOf({ deny: true, reason: 'no' })).toEqual({ decision: 'deny', reason: 'no' });
  expect(decisionOf({ answer: '"yes"' })).toEqual({ decision: 'answer', value: 'yes' });
  expect(decisionOf({ happened: true })).toEqual({ decision: 'happened' });
  expect(decisionOf({ happened: '{"id":7}' })).toEqual({ decision: 'happened', value: { id: 7 } });
  expect(decisionOf({ retry: true })).toEqual({ decision: 'retry' });
  expect(decisionOf({ failed: true })).toEqual({ decision: 'failed' });
});

test.for([
  [{ deny: true, retry: true }, '--retry: does not go with --deny'],
  [{ answer: '{' }, '--answer: not JSON'],
  [{ deny: true, args: '{}' }, '--args: does not go with --deny'],
  [{ deny: true, always: true }, '--always: does not go with --deny'],
  [{ failed: true, reason: 'x' }, '--reason: does not go with --failed'],
] as const)('%j is refused', ([options, message]) => {
  expect(() => decisionOf(options)).toThrow(message);
});

test('an edit is JSON where it can be, else text; a text in the place of a model call is a turn', () => {
  expect(editOf('lead/2.0={"hits":[]}')).toEqual({ key: 'lead/2.0', value: { hits: [] } });
  expect(editOf('lead=a=b')).toEqual({ key: 'lead', value: 'a=b' });
  expect(editOf('lead/2/model=Done')).toEqual({
    key: 'lead/2/model',
    value: { content: [{ type: 'text', text: 'Done' }], stop: 'end' },
  });
  expect(() => editOf('lead')).toThrow('--edit: got lead');
});

test('a point is a record by its number, else an address', () => {
  expect(pointOf('12')).toEqual({ record: 12 });
  expect(pointOf('lead/2/model')).toEqual({ key: 'lead/2/model' });
});
