import { isAgent } from '../agents/delegate.ts';
import type { Agent } from '../core/contract/agent.ts';
import type { RunResult } from '../core/contract/result.ts';
import { issueText } from '../core/schema/issue-text.ts';
import type { JsonSchema } from '../core/schema/schema.ts';
import { AgentError, ConfigurationError, ToolError } from '../core/values/errors.ts';
import { checkFunction, checkOneOf, checkOptions, shown } from '../core/values/options.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import { RUN_OPTIONS, type RunOptions } from '../orchestration/run/run-options.ts';
import { serveRun } from './serve-run.ts';

/** Options of a worker's tool beside the options of a run. */
export interface WorkerToolOptions<Call> {
  /** More options for one call, which override the others: for example `deps` for the user of that call. */
  readonly perCall?: ((call: Call) => RunOptions) | undefined;
  /** Called with each run as it starts, for example to decide its approvals, steer it or cancel it. */
  readonly onRun?: ((run: Run, call: Call) => void) | undefined;
  /** The progress that the other system receives: `names` (agents and calls by name), `text` (the worker's text as well) or `none`. Default `names`. */
  readonly progress?: 'names' | 'text' | 'none' | undefined;
}

/** The options argument of a worker's tool; required if the worker needs `deps`, which may come with each call. */
export type WorkerToolArgument<Deps, Call, More = object> = [Deps] extends [never]
  ? [options?: RunOptions & WorkerToolOptions<Call> & More]
  : unknown extends Deps
    ? [options?: RunOptions<Deps> & WorkerToolOptions<Call> & More]
    : [
        options: RunOptions<Deps> &
          WorkerToolOptions<Call> &
          More &
          ({ readonly deps: Deps } | { readonly perCall: (call: Call) => RunOptions<Deps> & { readonly deps: Deps } }),
      ];

/** What the other system's model may write: the worker's typed brief, not a text or messages. */
export type ToolInput<Input> = Exclude<Input, string | readonly unknown[]>;

/** A worker as the tool of another system in this process. */
export interface WorkerTool<Call, Output> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly progress: 'names' | 'text' | 'none';
  /** Starts a run for one call. Throws a ToolError that the other system's model can read if the input does not fit. */
  start(input: unknown, call: Call, signal: AbortSignal | undefined): Run<Output>;
  /** The result of a run that completed. Rejects with an AgentError if it did not complete, or with the signal's reason if that ended it. */
  completed(run: Run<Output>, signal: AbortSignal | undefined): Promise<Completed<Output>>;
}

/** The result of a run that completed. */
export type Completed<Output> = Extract<RunResult<Output>, { readonly status: 'completed' }>;

/** Shared by every integration inside this process: the checks, the run of a call, and its end. */
export function workerTool<Input, Output, Deps, Call>(
  who: string,
  agent: Agent<Input, Output, Deps>,
  given: object = {},
): WorkerTool<Call, Output> {
  if (!isAgent(agent))
    throw new ConfigurationError(who, `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
  const { name, description, input } = agent;
  if (description === '')
    throw new ConfigurationError(
      `agent ${name}.description`,
      'a tool needs a description',
      'Say in a sentence what the worker is for.',
    );
  checkOptions(who, given, [...RUN_OPTIONS, 'perCall', 'onRun', 'progress']);
  const { perCall, onRun, progress = 'names', ...options } = given as RunOptions & WorkerToolOptions<Call>;
  checkFunction(`${who}.perCall`, perCall);
  checkFunction(`${who}.onRun`, onRun);
  checkOneOf(`${who}.progress`, progress, ['names', 'text', 'none']);
  return {
    name,
    description,
    inputSchema: input.jsonSchema,
    progress,
    start(value, call, signal) {
      const checked = input.validate(value);
      if (!checked.ok) throw new ToolError('invalid_args', `${name}: ${issueText(checked.issues, '; ')}`);
      const own = perCall?.(call) ?? {};
      // Refuses a promise, a likely mistake, whose options would be ignored.
      checkOptions(`${who}.perCall`, own, RUN_OPTIONS);
      const run = serveRun(agent, value, { ...options, ...own }, { signal });
      onRun?.(run as Run, call);
      return run;
    },
    async completed(run, signal) {
      const result = await run.result;
      if (result.status === 'completed') return result;
      if (result.status === 'aborted' && signal?.aborted) throw signal.reason;
      throw failure(`${name} ended with ${result.status}: ${causeOf(result)}`, result);
    },
  };
}

/** The result is for code: it is not enumerable, so that an error written as JSON does not contain the transcript. */
function failure(message: string, result: RunResult): AgentError<RunResult> {
  const error = new AgentError(message, result);
  Object.defineProperty(error, 'result', { enumerable: false });
  return error;
}

/** The cause for a person or a model of the other system, and what can still be done. */
function causeOf(result: Exclude<RunResult, { readonly status: 'completed' }>): string {
  if (result.status !== 'suspended') return result.error.message;
  const waits = result.pending.map((one) => (one.reason === 'wait' ? 'an answer' : `approval of ${one.tool}`));
  return `it waits for ${waits.join(', ')}. Run ${result.runId} goes on once that is decided; another call would start anew.`;
}
