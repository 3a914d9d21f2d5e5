import { expect, test } from 'vitest';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('the editor receives messages of a person and its workers, answers a question, and continues one of them', async () => {
  await import('../../examples/newsroom.ts');
  expect(lines[0]).toBe('editor receives from operator: One sentence.');
  expect([...lines.slice(1, -4)].sort()).toEqual([
    'editor answers 1.0/dates: The opening.',
    'editor receives from dates: Message from worker 1.0/dates: Your task says 1887; that is when it was begun.',
    'editor receives from dates: Worker 1.0/dates: completed It opened on 31 March 1889.',
    'editor receives from prices: Worker 1.1/prices: completed About 8 million francs.',
  ]);
  expect(lines.slice(-4)).toEqual([
    '(scripted) The tower opened in 1889, for 7.8 million gold francs.',
    'editor/1.0/dates: completed',
    'editor/1.1/prices: completed',
    'editor/3.0/prices: completed',
  ]);
});
