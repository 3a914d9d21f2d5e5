import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { samplesOf } from '../docs/pages.ts';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('hello-agent asks for weather and time in one turn', async () => {
  await import('../../examples/hello-agent.ts');
  expect(lines).toEqual([
    'What are the weather and the time in Lisbon?',
    expect.stringMatching(/^\(scripted\) Lisbon: 14 °C, light rain, \d\d:\d\d$/),
    '(2 steps, 2 tool calls, completed)',
  ]);
});

test('hello-supervisor hands work to two agents', async () => {
  await import('../../examples/hello-supervisor.ts');
  expect(lines).toEqual([
    expect.stringContaining('The dark keeps rowing.'),
    'editor/1.0/poet: completed',
    'editor/1.1/critic: completed',
  ]);
});

test('hello-procedure asks two agents, then a third', async () => {
  await import('../../examples/hello-procedure.ts');
  expect(lines.map((line) => line.split(':')[0])).toEqual(['For', 'Against', 'Verdict']);
});

test('worker-elsewhere calls a worker from plain code', async () => {
  await import('../../examples/worker-elsewhere.ts');
  expect(lines).toEqual(['bill      You owe us for the rope.', 'praise    The new oars are a joy.']);
});

test('long-reading sums up what no longer fits', async () => {
  await import('../../examples/long-reading.ts');
  expect(lines).toHaveLength(3);
  for (const line of lines.slice(0, -1))
    expect(line).toMatch(/^before step \d+: \d+ messages summarised, 2\d{3} → \d+ tokens$/);
  expect(lines.at(-1)).toBe('(scripted) A harbour in which nothing happens.');
});

test('workspace-editor mends a file, and is kept in its folder', async () => {
  await import('../../examples/workspace-editor.ts');
  expect(lines).toEqual([
    'read_file: ok',
    'read_file: "../../etc/passwd" leads out of the workspace.',
    'edit_file: ok',
    'run_command: ok',
    '{ "high": "11:40", "low": "17:55" }',
    'A comma stood after the last entry.',
  ]);
});

test('nobody-there writes where two lines allow it, and nowhere else', async () => {
  await import('../../examples/nobody-there.ts');
  expect(lines).toEqual([
    '{}: denied, denied',
    '{"rules":["allow! write_file:out/**"]}: written, denied',
    '{"rules":["allow write_file:out/**"],"trust":["search"]}: written, denied',
    'out',
  ]);
});

test('race-and-quorum lets the first win, and two of three be enough', async () => {
  await import('../../examples/race-and-quorum.ts');
  expect(lines).toEqual([
    '(scripted) It was begun in 1887.',
    'editor/1.0/archive: cancelled',
    'editor/1.1/web: model_error',
    'editor/1.2/notes: completed',
    'editor/2.0/reader.0: cancelled',
    'editor/2.0/reader.0: completed',
    'cancelled: Enough workers of this turn have completed (2).',
    'reader: 1887 (page 2)',
    'reader: 1887 (page 3)',
  ]);
});

test('the guide for newcomers shows what the examples run', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const examples = ['hello-agent', 'hello-supervisor', 'hello-procedure']
    .map((name) => read(`examples/${name}.ts`))
    .join('\n');
  const definitions = samplesOf('docs/getting-started.md')
    .flatMap(({ text }) => text.split(/\n(?=const |import |\n)/))
    .filter((code) => /= define/.test(code));
  expect(definitions.length).toBeGreaterThan(8);
  for (const definition of definitions) expect(examples).toContain(definition.trim());
});

test.each([
  'hello-agent',
  'hello-supervisor',
  'hello-procedure',
  'worker-elsewhere',
  'long-reading',
  'workspace-editor',
  'race-and-quorum',
  'nobody-there',
])('%s is under 40 lines', (name) => {
  const text = readFileSync(new URL(`../../examples/${name}.ts`, import.meta.url), 'utf8');
  expect(text.trimEnd().split('\n').length).toBeLessThan(40);
});
