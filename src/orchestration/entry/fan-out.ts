import { defineAgent } from '../../agents/define-agent.ts';
import { isAgent } from '../../agents/delegate.ts';
import { checkFanOutCall, FanOutStopped } from '../../core/call/fan-out-call.ts';
import type { Agent, InputArgument } from '../../core/contract/agent.ts';
import type { FanOutOptions, FanOutResult } from '../../core/contract/fan-out-options.ts';
import { AgentError, ConfigurationError, isA } from '../../core/values/errors.ts';
import { canonical } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';
import { beginningOf } from '../../journal/beginning.ts';
import { isInsideAny } from '../approvals/reentrancy-guard.ts';
import type { Run } from '../run/run-handle.ts';
import type { RunOptions } from '../run/run-options.ts';
import { resumeRun } from './resume-run.ts';
import { startRun } from './start-run.ts';

/** Options of a fan-out and of its run; asked for only where the agent needs `deps`. */
export type FanOutArgument<Deps> = [Deps] extends [never]
  ? [options?: RunOptions & FanOutOptions]
  : unknown extends Deps
    ? [options?: RunOptions<Deps> & FanOutOptions]
    : [options: RunOptions<Deps> & FanOutOptions & { readonly deps: Deps }];

/**
 * One worker for each brief, at once, from code outside of a run: what became of each, in the order of the briefs. It is one run:
 * limits, permissions, journal and views hold for all workers together. Called again with the `runId` and `journal` of one that
 * was interrupted it continues that run. Inside of a run it is `ctx.fanOut`.
 *
 * Rejects with a ConfigurationError where something is wrong before it starts, with an AgentError where the run waits for a
 * person; never because a worker failed.
 *
 * @example const answers = await fanOut(researcher, ['prices', 'risks'], { policy: 'race', model, limits: { costUsd: 1 } });
 */
export async function fanOut<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  briefs: readonly InputArgument<Input>[],
  ...[options]: FanOutArgument<Deps>
): Promise<readonly FanOutResult<Output>[]> {
  const { policy, concurrency, ...given } = (options ?? {}) as RunOptions & FanOutOptions;
  if (isInsideAny())
    throw new ConfigurationError(
      'fanOut',
      'called inside of a run: it would have a budget and records of its own',
      'Call ctx.fanOut(agent, briefs, options) of the procedure.',
    );
  if (!isAgent(agent))
    throw new ConfigurationError('agent', `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
  checkFanOutCall('fanOut', briefs, { policy, concurrency });
  const captured: { results?: readonly FanOutResult[] } = {};
  const root = rootOf(agent as Agent, { policy, concurrency }, captured);
  const run = await begin(root, briefs, given);
  const result = await run.result;
  if (result.status === 'completed') return (captured.results ?? result.output) as readonly FanOutResult<Output>[];
  if (captured.results !== undefined && result.status !== 'suspended')
    return captured.results as readonly FanOutResult<Output>[];
  const cause = result.status === 'suspended' ? 'it waits for a person' : result.error.message;
  throw new AgentError(`fanOut ended with ${result.status}: ${cause}`, result);
}

type Root = Agent<{ briefs: readonly unknown[] }, readonly FanOutResult[], never>;

/** The procedure that is the run; `captured` gets the results also where it was stopped. */
function rootOf(agent: Agent, options: FanOutOptions, captured: { results?: readonly FanOutResult[] }): Root {
  const root = defineAgent({
    name: 'fanOut',
    input: { type: 'object', properties: { briefs: { type: 'array' } }, required: ['briefs'] },
    async run(input, ctx) {
      const { briefs } = input as { briefs: readonly never[] };
      try {
        captured.results = await ctx.fanOut(agent as Agent<never>, briefs, options);
        return captured.results;
      } catch (thrown) {
        if (isA(thrown, FanOutStopped)) captured.results = thrown.results;
        throw thrown;
      }
    },
  });
  return root as unknown as Root;
}

/** Starts the run, or continues the one of that id in the journal. */
async function begin(
  root: Root,
  briefs: readonly unknown[],
  options: RunOptions,
): Promise<Run<readonly FanOutResult[]>> {
  const { runId, journal } = options;
  const stored = runId === undefined ? undefined : await journal?.read(runId);
  if (stored === undefined || journal === undefined || runId === undefined)
    return startRun(root, { briefs }, options as never);
  if (canonical(beginningOf(stored).value) !== canonical({ briefs }))
    throw new ConfigurationError(
      'runId',
      `${runId} is a run of other briefs`,
      'Pass the briefs that it was started with.',
    );
  const { runId: _, ...rest } = options;
  return resumeRun(root, runId, { ...rest, journal } as never);
}
