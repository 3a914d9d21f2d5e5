import { ConfigurationError } from '../core/values/errors.ts';
import { checkFunction, checkOneOf, checkOptions, checkText, shown } from '../core/values/options.ts';
import type { Status } from '../core/values/status.ts';
import type { EvaluationCase } from './evaluate.ts';
import type { ExpectedCall } from './match-calls.ts';

const CASE = ['name', 'input', 'calls', 'order', 'only', 'status', 'check'];
const CALL = ['name', 'args', 'agent'];
const STATUSES: { readonly [status in Status]: true } = {
  completed: true,
  step_limit: true,
  tool_limit: true,
  token_limit: true,
  cost_limit: true,
  timeout: true,
  context_limit: true,
  loop_detected: true,
  invalid_output: true,
  model_error: true,
  aborted: true,
  cancelled: true,
  suspended: true,
};

/**
 * Refuses cases that could not fail or could never pass: an empty list, two with one name (a baseline identifies them by it), and
 * unknown expectations.
 *
 * @throws ConfigurationError
 */
export function checkCases(cases: unknown): void {
  if (!Array.isArray(cases) || cases.length === 0) {
    const got = Array.isArray(cases) ? 'none' : shown(cases);
    throw new ConfigurationError('cases', `expected a list of questions, got ${got}`, 'Ask at least one.');
  }
  const names = new Set<string>();
  cases.forEach((one: unknown, index) => {
    const field = `cases[${index}]`;
    checkOptions(field, one, CASE);
    const { name, order, only, status, check, calls = [] } = one as EvaluationCase;
    checkText(`${field}.name`, name, 'Name the question.');
    if (names.has(name)) throw new ConfigurationError(`${field}.name`, `${shown(name)} is taken`, 'Name it otherwise.');
    names.add(name);
    checkOneOf(`${field}.order`, order, ['free', 'fixed']);
    checkOneOf(`${field}.only`, only, [true, false]);
    checkOneOf(`${field}.status`, status, Object.keys(STATUSES));
    checkFunction(`${field}.check`, check);
    if (!Array.isArray(calls)) {
      throw new ConfigurationError(
        `${field}.calls`,
        `expected a list, got ${shown(calls)}`,
        "Write [{ name: 'a_tool' }].",
      );
    }
    calls.forEach((call: unknown, at) => {
      checkOptions(`${field}.calls[${at}]`, call, CALL);
      checkText(`${field}.calls[${at}].name`, (call as ExpectedCall).name, 'Name the tool.');
    });
  });
}
