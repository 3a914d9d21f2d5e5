import type { ToolIn } from '../contract/boundary.ts';
import type { Json } from '../values/json.ts';
import type { ParsedCall } from './resolve-call.ts';

/** What is recorded of a call: the tool, its arguments, and the rule that allowed it. */
export function callFacts({ call, tool }: ParsedCall, key: string, args: Json, rule?: string): ToolIn {
  if (tool === undefined) return { name: call.name, description: '', callId: call.id, args };
  const { name, description, access } = tool;
  // A call of code has its address for an id.
  const given = call.id === key ? { given: call.arguments } : undefined;
  const facts = { name, description, callId: call.id, args, access, ...given, ...(tool.mcp && { mcp: tool.mcp }) };
  if (tool.type === 'procedure' && tool.delegate) {
    const ofWorker = { ...facts, delegate: tool.delegate.agent.name };
    return rule === undefined ? ofWorker : { ...ofWorker, rule };
  }
  if (rule === undefined && tool.sandbox === undefined) return facts;
  return {
    ...facts,
    ...(rule !== undefined && { rule }),
    ...(tool.sandbox !== undefined && { sandbox: tool.sandbox }),
  };
}
