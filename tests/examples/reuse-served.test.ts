import { expect, test } from 'vitest';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('http: a worker is served, watched over a broken line, and a tool of another team', async () => {
  await import('../../examples/reuse/http.ts');
  expect(lines).toEqual([
    ...['run.start', 'agent.start', '… disconnected …', 'tool.start', 'tool.end', 'agent.end', 'run.end'],
    ...['Yes: 4.2 m at the bar.', 'Aye: the service says yes.'],
  ]);
});

test('a2a: a worker answers another agent, which sees what it spent', async () => {
  await import('../../examples/reuse/a2a.ts');
  expect(lines).toEqual([
    'progress: the agent used 60 tokens in, 11 out',
    'pilot: Keep the church tower over the mole.',
    'We keep the tower over the mole.',
  ]);
});
