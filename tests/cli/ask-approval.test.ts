import { PassThrough } from 'node:stream';
import type { ApprovalRequest, Decision } from 'coxswain';
import { expect, test } from 'vitest';
import { askApproval, questionText } from '../../src/cli/ask-approval.ts';

const REQUEST: ApprovalRequest = {
  id: 'lead/1.0/@approval',
  runId: 'r',
  path: 'lead',
  agent: 'lead',
  tool: 'write_file',
  args: { path: 'a\u200b\u202e.md', text: '\u001b[2J' },
  risk: 'medium',
  access: 'write',
  reason: 'rule',
  rule: 'ask write_file',
  label: { integrity: 'trusted', confidentiality: 'public', origins: [] },
  argsHash: '',
  toolHash: '',
};

function terminal() {
  const input = new PassThrough();
  const output = new PassThrough().setEncoding('utf8');
  const approve = askApproval({ input, output });
  const question = () => new Promise<string>((resolve) => output.once('data', resolve));
  return { input, question, approve: async (request: ApprovalRequest): Promise<Decision> => approve(request) };
}

test('the question shows path, tool, rule and every character of the arguments', () => {
  const text = questionText(REQUEST);
  expect(text).toContain('lead asks to call write_file (write, medium risk; asked because of rule: ask write_file)');
  expect(text).toContain('  path: "a⟨U+200B⟩⟨U+202E⟩.md"\n  text: "\\u001b[2J"\n');
});

test.for([
  ['y\n', 'allow'],
  ['YES\n', 'allow'],
  ['n\n', 'deny'],
  ['\n', 'deny'],
  ['yeah\n', 'deny'],
] as const)('%j is %s', async ([typed, decision]) => {
  const { input, question, approve } = terminal();
  const answer = approve(REQUEST);
  await question();
  input.write(typed);
  expect((await answer).decision).toBe(decision);
});

test.for([
  ['h\n', 'happened'],
  ['F\n', 'failed'],
  ['r\n', 'retry'],
  ['y\n', 'deny'],
  ['constructor\n', 'deny'],
] as const)('of a call whose outcome is unknown %j is %s', async ([typed, decision]) => {
  const { input, question, approve } = terminal();
  const answer = approve({ ...REQUEST, reason: 'unknown' });
  expect(await question()).toContain('nobody knows whether it happened');
  input.write(typed);
  expect((await answer).decision).toBe(decision);
});

test('the end of the input denies', async () => {
  const { input, question, approve } = terminal();
  const answer = approve(REQUEST);
  await question();
  input.end();
  expect((await answer).decision).toBe('deny');
});

test('questions come one after the other', async () => {
  const { input, question, approve } = terminal();
  const first = approve({ ...REQUEST, tool: 'first' });
  const second = approve({ ...REQUEST, tool: 'second' });
  expect(await question()).toContain('call first');
  const next = question();
  input.write('n\n');
  expect((await first).decision).toBe('deny');
  expect(await next).toContain('call second');
  input.write('y\n');
  expect((await second).decision).toBe('allow');
});
