import { expect, test } from 'vitest';
import { exitCode } from '../../src/cli/exit-code.ts';

test.for([
  ['completed', 0],
  ['model_error', 1],
  ['invalid_output', 1],
  ['loop_detected', 1],
  ['aborted', 1],
  ['cancelled', 1],
  ['suspended', 3],
  ['step_limit', 4],
  ['tool_limit', 4],
  ['token_limit', 4],
  ['cost_limit', 4],
  ['timeout', 4],
  ['context_limit', 4],
] as const)('%s ends with %i', ([status, code]) => {
  expect(exitCode(status)).toBe(code);
  expect(exitCode(status, true)).toBe(status === 'completed' ? 0 : 130);
});
