import { expect, test } from 'vitest';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('the remembering assistant knows in the second session what was said in the first, and tells nobody else', async () => {
  await import('../../examples/remembering-assistant/assistant.ts');
  const answers = lines.filter((line) => line.startsWith('assistant:'));
  expect(answers).toHaveLength(3);
  expect(answers[0]).toContain('Noted');
  expect(answers[1]).toContain('The user lives in Porto');
  expect(answers[1]).toContain('The user drinks tea');
  expect(answers[1]).not.toContain('Lisbon');
  expect(answers[2]).toBe('assistant: (scripted) I know: nothing');
});
