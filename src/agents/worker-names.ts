import { ConfigurationError } from '../core/errors.ts';
import type { Delegate, ProcedureTool } from '../core/tool.ts';

/** A delegate among a supervisor's tools. */
export type DelegateTool = ProcedureTool & { readonly delegate: Delegate };

/** The workers of a supervisor by the name that its model gives them: the agent's, or the one that the supervisor gave its tool. */
export function workerNames(field: string, delegates: readonly ProcedureTool[]): ReadonlyMap<string, DelegateTool> {
  const workers = new Map<string, DelegateTool>();
  for (const tool of delegates.filter(isDelegate)) {
    const { name } = tool.delegate.agent;
    const called = tool.name === `delegate_${name}` ? name : tool.name;
    if (workers.has(called))
      throw new ConfigurationError(field, `two workers are called ${called}`, 'Give one of them another toolName.');
    workers.set(called, tool);
  }
  return workers;
}

function isDelegate(tool: ProcedureTool): tool is DelegateTool {
  return tool.delegate !== undefined;
}
