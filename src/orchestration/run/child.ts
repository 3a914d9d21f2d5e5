import type { Agent } from '../../core/contract/agent.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import type { Label } from '../../core/values/label.ts';
import type { AgentLimits } from '../../core/values/limits.ts';
import { type InitialInput, initialInput } from './initial-input.ts';

/** The initial input of a child. A mistake in its brief is an error result for the caller, not the end of the run. */
export function childInput(agent: Agent, input: unknown, label: Label): InitialInput {
  try {
    return initialInput(agent, input, label);
  } catch (thrown) {
    throw thrown instanceof ConfigurationError
      ? new ToolError('invalid_args', `${agent.name}: ${thrown.message}`)
      : thrown;
  }
}

/** Each limit of a delegate where it is the smaller. */
export function narrow(own: AgentLimits, delegate: AgentLimits): AgentLimits {
  const limits: Record<string, number | undefined> = { ...own };
  for (const [name, limit] of Object.entries(delegate)) {
    const before = limits[name];
    if (limit !== undefined) limits[name] = before === undefined ? limit : Math.min(before, limit);
  }
  return limits;
}

/** A share of the smallest cap above: it follows from the definitions, whatever was spent until then. */
export function shareOfCaps(share: number | undefined, run: AgentLimits, parent: Invocation): AgentLimits {
  if (share === undefined) return {};
  const least = (name: 'tokens' | 'costUsd') => {
    let cap = run[name];
    for (let node: Invocation | undefined = parent; node !== undefined; node = node.parent)
      cap = Math.min(cap ?? Number.POSITIVE_INFINITY, node.limits[name] ?? Number.POSITIVE_INFINITY);
    return cap !== undefined && Number.isFinite(cap) ? cap * share : undefined;
  };
  const tokens = least('tokens');
  return { tokens: tokens && Math.max(1, Math.floor(tokens)), costUsd: least('costUsd') };
}
