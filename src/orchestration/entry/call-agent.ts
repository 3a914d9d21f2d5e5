import type { Agent, InputArgument } from '../../core/contract/agent.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { AgentError } from '../../core/values/errors.ts';
import type { OptionsArgument } from '../run/run-options.ts';
import { startRun } from './start-run.ts';

/**
 * Calls an agent from code outside of a run, as a run of its own: the output, or an AgentError with the result.
 *
 * @example const { answer } = await callAgent(researcher, { question: 'How old is it?' }, { model });
 */
export async function callAgent<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: InputArgument<Input>,
  ...options: OptionsArgument<Deps>
): Promise<Output> {
  const result = await startRun(agent, input, ...options).result;
  return outputOf(agent.name, result);
}

export function outputOf<Output>(name: string, result: RunResult<Output>): Output {
  if (result.status === 'completed') return result.output;
  const cause = result.status === 'suspended' ? 'it waits for a person' : result.error.message;
  throw new AgentError(`${name} ended with ${result.status}: ${cause}`, result);
}
