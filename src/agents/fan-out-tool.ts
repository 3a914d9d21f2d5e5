import { defineBuiltin } from '../core/call/define-tool.ts';
import type { Agent } from '../core/contract/agent.ts';
import type { FanOutPolicy, FanOutResult } from '../core/contract/fan-out-options.ts';
import type { ProcedureTool } from '../core/contract/tool.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import { boundText } from '../core/values/bound-json.ts';
import { ConfigurationError, ToolError } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';
import { checkOptions, checkWhole, shown } from '../core/values/options.ts';
import { type DelegateTool, fanOutInput, workerNames } from './fan-out-input.ts';

/** `true` for the defaults; `max` is how many briefs one call may have, default 16. */
export type FanOutToolOptions = boolean | { readonly max?: number | undefined };

const DEFAULT_MAX = 16;
/** Three whole results of workers, or a share of it for each. */
const MAX_RESULT_CHARS = 24_000;

/** One call that hands many briefs to one of a supervisor's workers; undefined where it is not wanted. */
export function fanOutTool(
  field: string,
  given: FanOutToolOptions | undefined,
  delegates: readonly ProcedureTool[],
  policy: FanOutPolicy,
): ProcedureTool | undefined {
  const max = maxOf(field, given);
  if (max === undefined) return undefined;
  const workers = workerNames(field, delegates);
  const options = {
    name: 'fan_out',
    description: `Hands up to ${max} briefs to one worker, each to an instance of its own, all at once. Gives what became of each.`,
    input: {},
    access: 'read',
    maxResultChars: MAX_RESULT_CHARS,
    async run(input: never, ctx: BuiltinProcedureContext<never>): Promise<Json> {
      const { worker, briefs } = input as { worker: string; briefs: readonly never[] };
      const delegate = workers.get(worker) as DelegateTool;
      const { agent } = delegate.delegate;
      const results = await ctx.fanOut(agent as Agent<never>, briefs, { policy, delegate });
      return census(agent, results, ctx.site.self);
    },
  } as const;
  return defineBuiltin(options, fanOutInput(workers, max, field), { callsDelegates: true });
}

function maxOf(field: string, given: unknown): number | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return DEFAULT_MAX;
  if (typeof given !== 'object')
    throw new ConfigurationError(field, `got ${shown(given)}`, 'Write true, or { max: 12 }.');
  checkOptions(field, given, ['max']);
  const { max } = given as { max?: number };
  checkWhole(`${field}.max`, max, 1);
  return max ?? DEFAULT_MAX;
}

/** Each brief by its number, with what became of it, and the worker's id where it can be continued; an error where no worker completed. */
function census(agent: Agent, results: readonly FanOutResult[], { path, threads }: Invocation): Json {
  const room = Math.floor(MAX_RESULT_CHARS / 2 / results.length);
  const census = results.map((result, index): { readonly [key: string]: Json } => {
    const id = result.path.slice(path.length + 1);
    const facts = { brief: index + 1, ...(threads?.has(id) && { id }), status: result.status };
    if (result.status === 'completed')
      return agent.output === undefined ? { ...facts, text: result.text } : { ...facts, output: asJson(result.output) };
    const had = result.text === '' ? {} : { text: boundText(result.text, room) };
    return { ...facts, error: boundText(result.error.message, room), ...had };
  });
  if (results.some(({ status }) => status === 'completed')) return census;
  throw new ToolError('threw', `No worker completed: ${JSON.stringify(census)}`);
}

function asJson(output: unknown): Json {
  return (output ?? null) as Json;
}
