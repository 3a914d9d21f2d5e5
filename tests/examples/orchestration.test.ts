import { expect, test } from 'vitest';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('under-a-cap: the reader that never stops reading meets its share, and the others are done', async () => {
  await import('../../examples/under-a-cap.ts');
  expect(lines).toEqual([
    'editor/1.2/reader has reached costUsd: 0.0076 of 0.015',
    '(scripted) Four sources are read; the archive is not done.',
    'editor/1.0/reader: completed, 0.0038 USD',
    'editor/1.1/reader: completed, 0.0038 USD',
    'editor/1.2/reader: cost_limit, 0.0076 USD',
    'editor/1.3/reader: completed, 0.0038 USD',
    'editor/1.4/reader: completed, 0.0038 USD',
    'completed, 0.0266 of 0.1 USD',
  ]);
});

test('failures: each worker that fails says how, and the supervisor answers from the one that did not', async () => {
  await import('../../examples/failures.ts');
  expect(lines).toEqual([
    'delegate_archive: It was built in 1887.',
    'delegate_web failed: model_error: this key may not search',
    'delegate_drawer failed: timeout: The time limit of 200 ms is reached.',
    expect.stringMatching(/^delegate_shelf failed: loop_detected: Not run: look was called with these arguments/),
    'Two of five boards seen.',
    expect.stringMatching(/^delegate_register failed: invalid_output: The answer holds no JSON/),
    'I believe it was in 1887.',
    'delegate_map failed: model_error: the map is torn',
    'completed: (scripted) In 1887, by the archive alone.',
  ]);
});

test('help-desk: billing takes the conversation over, is asked about like anybody, and it can go on', async () => {
  await import('../../examples/help-desk.ts');
  expect(lines).toEqual([
    'billing wants to refund {"order":18}: allowed',
    'desk/1.1/billing: completed',
    'desk: completed',
    'user: This is Ada. I was charged twice.',
    'tool: Ada: order 17 of 3 May, order 18 of 3 May',
    'tool: The conversation goes on with billing.',
    'user: Check the orders of May.',
    'tool: order 18 is paid back',
    '(scripted) You were charged twice; order 18 is paid back.',
    '(scripted) Thank you for calling, Ada.',
  ]);
});
