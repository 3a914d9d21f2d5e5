import type { ErrorRecord } from '../values/errors.ts';
import { DEFAULTS } from '../values/limits.ts';
import type { Invocation } from './invocation.ts';
import type { RunContext } from './run-context.ts';

interface Limit {
  readonly limit: 'steps' | 'toolCalls';
  readonly used: number;
  readonly max: number;
}

/** Whether a further step is over the invocation's limit or the run's. */
export function stepLimit(run: RunContext, { path, step, limits }: Invocation): Limit | undefined {
  const past = recorded(run, 'steps', `${path}/${step}`, `${path}/${step + 1}`);
  if (past !== undefined) return past.limit;
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
  const past = recorded(run, 'toolCalls', `${path}/${step}`, `${path}/${step}.0`);
  if (past !== undefined) return past.limit;
  const max = limits.toolCalls ?? DEFAULTS.toolCalls;
  if (toolCalls + requested > max) return { limit: 'toolCalls', used: toolCalls + requested, max };
  const tree = run.limits.toolCalls;
  const used = run.count.toolCalls + requested;
  return tree !== undefined && used > tree ? { limit: 'toolCalls', used, max: tree } : undefined;
}

/** One call of a procedure's code. Only limits that were given hold for it: the default is a guard against a model. */
export function admitCode(run: RunContext, self: Invocation, key: string): Limit | undefined {
  const past = recorded(run, 'toolCalls', key, key);
  if (past !== undefined) return past.limit;
  const max = self.definition.type === 'code' ? self.limits.toolCalls : undefined;
  if (max !== undefined && self.codeCalls >= max) return { limit: 'toolCalls', used: self.codeCalls + 1, max };
  const tree = run.limits.toolCalls;
  const used = run.count.toolCalls + 1;
  return tree !== undefined && used > tree ? { limit: 'toolCalls', used, max: tree } : undefined;
}

/** Admission depends on what the rest of the tree did until then: a resume keeps to what was decided. */
function recorded(
  run: RunContext,
  which: Limit['limit'],
  at: string,
  admitted: string,
): { limit: Limit | undefined } | undefined {
  const past = run.journal.recall('limit', `${at}/@limit`)?.value;
  if (past?.limit === which) return { limit: { ...past, limit: which } };
  return run.journal.has(admitted) ? { limit: undefined } : undefined;
}

/** Notes that a limit was reached; gives the cause for the outcome. */
export function limited(
  run: RunContext,
  self: Invocation,
  limit: Limit,
  at = `${self.path}/${self.step}`,
): ErrorRecord {
  const entry = {
    key: `${at}/@limit`,
    node: self,
    step: self.step,
    attempt: 1,
    span: self.span,
  } as const;
  run.journal.note({ ...entry, kind: 'limit', event: 'done', value: { ...limit } });
  const what = limit.limit === 'steps' ? 'The step limit' : 'The limit of tool calls';
  return {
    kind: limit.limit === 'steps' ? 'step_limit' : 'tool_limit',
    message: `${what} of ${limit.max} is reached.`,
    retryable: false,
  };
}
