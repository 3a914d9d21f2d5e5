import type { Agent } from '../contract/agent.ts';
import type { RunResult } from '../contract/result.ts';
import { type AgentOutcome, agentResult } from '../runtime/agent-outcome.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { AgentError, type ToolError } from '../values/errors.ts';
import { NO_USAGE } from '../values/usage.ts';

/** A child that was never started is a failed one for the code that asked for its output. */
export function refusedChild(
  run: Pick<RunContext, 'id' | 'traceId'>,
  { key, agent }: { key: string; agent: Agent },
  refused: ToolError,
): AgentError {
  const error = { kind: refused.kind, message: refused.message, retryable: false };
  const node = { path: key, agent: agent.name, step: 0, usage: NO_USAGE, children: [] };
  const sums = { usage: NO_USAGE, steps: 0, toolCalls: 0, byAgent: {}, byModel: {} };
  const facts = { runId: run.id, traceId: run.traceId, text: '', messages: [], ...sums };
  const result: RunResult = { ...facts, tree: { ...node, status: 'model_error' }, status: 'model_error', error };
  return new AgentError(`${agent.name} was not started: ${refused.message}`, result);
}

export function agentError(run: Pick<RunContext, 'id' | 'traceId'>, outcome: AgentOutcome): AgentError {
  const cause = outcome.error?.message ?? 'no cause given';
  const message = `${outcome.self.agent} ended with ${outcome.status}: ${cause}`;
  const result = agentResult(outcome, run);
  // A suspended result has no cause, since a run's says what is pending: this one is of a node, and its caller tells the cause.
  return new AgentError(message, result.status === 'suspended' ? { ...result, error: outcome.error } : result);
}
