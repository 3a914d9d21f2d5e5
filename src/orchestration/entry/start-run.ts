import { isAgent } from '../../agents/delegate.ts';
import type { Agent, InputArgument } from '../../core/contract/agent.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { type Label, TRUSTED } from '../../core/values/label.ts';
import { shown } from '../../core/values/options.ts';
import { initialInput } from '../run/initial-input.ts';
import type { Follows } from '../run/origin-span.ts';
import type { Run } from '../run/run-handle.ts';
import { checkRunOptions, type OptionsArgument, type RunOptions } from '../run/run-options.ts';
import { liveRun } from './live-run.ts';

/**
 * Starts a run of an agent and all below it. Throws a ConfigurationError at once where a definition, the input or an option is
 * wrong; everything later is data in `run.result`.
 *
 * @example
 * const run = startRun(lead, 'Compare A and B', { model, limits: { tokens: 400_000 } });
 * run.on('tool.end', (event) => console.error(event.path, event.name));
 * const result = await run.result;
 */
export function startRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: InputArgument<Input>,
  ...[options]: OptionsArgument<Deps>
): Run<Output> {
  return startRunWith(agent, input, TRUSTED, options as RunOptions | undefined);
}

/** The label is the caller's: untrusted at a protocol boundary. `follows`: the run whose work this one is. */
export function startRunWith<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: unknown,
  label: Label,
  options: RunOptions | undefined,
  follows?: Follows,
): Run<Output> {
  if (!isAgent(agent))
    throw new ConfigurationError('agent', `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
  const definition = agent as Agent;
  const checked = checkRunOptions(definition, options);
  const initial = initialInput(definition, input, label);
  return liveRun(checked.runId ?? newRunId(), definition, checked, { initial, follows });
}

/** `startRun(…).result`: for those who only want the end. Rejects where `startRun` throws. */
export async function runAgent<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: InputArgument<Input>,
  ...options: OptionsArgument<Deps>
): Promise<RunResult<Output>> {
  return startRun(agent, input, ...options).result;
}

/** A UUID in one piece: as Node gives it, it is a tree of small texts, which would live as long as the run. */
function newRunId(): string {
  const id = crypto.randomUUID();
  id.charCodeAt(0);
  return id;
}
