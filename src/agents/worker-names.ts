import type { Delegate, ProcedureTool } from '../core/contract/tool.ts';
import { ConfigurationError } from '../core/values/errors.ts';

/** A delegate among a supervisor's tools. */
export type DelegateTool = ProcedureTool & { readonly delegate: Delegate };

/** The workers of a supervisor that take a brief, by the name that its model uses: the agent's, or that of the worker's own tool. */
export function workerNames(field: string, delegates: readonly ProcedureTool[]): ReadonlyMap<string, DelegateTool> {
  const workers = new Map<string, DelegateTool>();
  for (const tool of delegates.filter(isDelegate)) {
    const { name } = tool.delegate.agent;
    const called = tool.name === `delegate_${name}` ? name : tool.name;
    if (workers.has(called))
      throw new ConfigurationError(field, `two workers are called ${called}`, 'Give one of them another toolName.');
    workers.set(called, tool);
  }
  if (workers.size === 0)
    throw new ConfigurationError(field, 'no worker takes a brief', 'Leave it out, or add a worker that is no handoff.');
  return workers;
}

function isDelegate(tool: ProcedureTool): tool is DelegateTool {
  return tool.delegate !== undefined && !tool.delegate.handoff;
}
