import type { ErrorRecord } from '../values/errors.ts';
import { DEFAULTS } from '../values/limits.ts';
import { envelope } from './envelope.ts';
import type { Invocation } from './invocation.ts';
import { isRecorded, recordedLimit } from './prior.ts';
import type { RunContext } from './run-context.ts';

interface Limit {
  readonly limit: 'steps' | 'toolCalls';
  readonly used: number;
  readonly max: number;
}

/** Whether a further step is over the invocation's limit or the run's. */
export function stepLimit(run: RunContext, { path, step, limits }: Invocation): Limit | undefined {
  const recorded = recordedLimit(run, 'steps', `${path}/${step}`, `${path}/${step + 1}`);
  if (recorded !== undefined) return recorded ?? undefined;
  const max = limits.steps ?? DEFAULTS.steps;
  if (step >= max) return { limit: 'steps', used: step, max };
  const tree = run.limits.steps;
  return tree !== undefined && run.count.steps >= tree
    ? { limit: 'steps', used: run.count.steps, max: tree }
    : undefined;
}

/** All of a batch or none of it: before it enters the transcript. Each requested call counts, known or not. */
export function admit(
  run: RunContext,
  { path, step, toolCalls, limits }: Invocation,
  requested: number,
): Limit | undefined {
  const recorded = recordedLimit(run, 'toolCalls', `${path}/${step}`, `${path}/${step}.0`);
  if (recorded !== undefined) return recorded ?? undefined;
  const max = limits.toolCalls ?? DEFAULTS.toolCalls;
  if (toolCalls + requested > max) return { limit: 'toolCalls', used: toolCalls + requested, max };
  const tree = run.limits.toolCalls;
  const used = run.count.toolCalls + requested;
  return tree !== undefined && used > tree ? { limit: 'toolCalls', used, max: tree } : undefined;
}

/** One call of a procedure's code. Only limits that were given hold for it: the default is a guard against a model. */
export function admitCode(run: RunContext, self: Invocation, key: string): Limit | undefined {
  const recorded = recordedLimit(run, 'toolCalls', key, key);
  if (recorded !== undefined) return recorded ?? undefined;
  const max = self.definition.type === 'code' ? self.limits.toolCalls : undefined;
  if (max !== undefined && self.codeCalls >= max) return { limit: 'toolCalls', used: self.codeCalls + 1, max };
  const tree = run.limits.toolCalls;
  const used = run.count.toolCalls + 1;
  return tree !== undefined && used > tree ? { limit: 'toolCalls', used, max: tree } : undefined;
}

/** Counts the step at hand, unless an earlier process did: its sums are loaded with the records. */
export function countStep(run: RunContext, { path, step }: Invocation): void {
  if (!isRecorded(run, `${path}/${step}`)) run.count.steps += 1;
}

/** Counts a tool call likewise. */
export function countToolCall(run: RunContext, key: string): void {
  if (!isRecorded(run, key)) run.count.toolCalls += 1;
}

/** Notes that a limit was reached; gives the cause for the outcome. */
export function limited(
  run: RunContext,
  self: Invocation,
  limit: Limit,
  at = `${self.path}/${self.step}`,
): ErrorRecord {
  run.journal.note({ ...envelope(self, `${at}/@limit`), kind: 'limit', event: 'done', value: { ...limit } });
  const what = limit.limit === 'steps' ? 'The step limit' : 'The limit of tool calls';
  return {
    kind: limit.limit === 'steps' ? 'step_limit' : 'tool_limit',
    message: `${what} of ${limit.max} is reached.`,
    retryable: false,
  };
}
