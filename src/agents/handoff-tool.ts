import { defineDelegate } from '../core/call/define-tool.ts';
import type { Agent } from '../core/contract/agent.ts';
import type { Delegate, ProcedureTool } from '../core/contract/tool.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import { takeOver } from '../core/turn/handoff.ts';
import { ConfigurationError } from '../core/values/errors.ts';

const INPUT = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'What it should know beside the conversation, which it sees whole' },
  },
  additionalProperties: false,
} as const;

/** The tool by which a worker takes its supervisor's conversation over. */
export function handoffTool(
  field: string,
  { toolName, description }: { readonly toolName?: string | undefined; readonly description: string },
  delegate: Delegate,
): ProcedureTool {
  const { name } = delegate.agent;
  checkHandoff(field, delegate);
  const called = toolName ?? `handoff_to_${name}`;
  if (called.length > 64)
    throw new ConfigurationError(field, `the name ${called} is longer than 64 characters`, 'Give a toolName.');
  const options = {
    name: called,
    description: `Hands the conversation over to ${name}, for good: ${description}`,
    input: {},
    access: 'read',
    parallel: true,
    run: (input: { readonly message?: string }, ctx: BuiltinProcedureContext) => takeOver(input, ctx),
  } as const;
  return defineDelegate(options as never, compileSchema(INPUT, field), delegate);
}

function checkHandoff(field: string, { agent, detached, ask, passThrough }: Delegate): void {
  const refuse = (problem: string, mend: string) => new ConfigurationError(`${field}.handoff`, problem, mend);
  if (isCode(agent)) throw refuse(`${agent.name} is a procedure, which takes no conversation`, 'Leave out handoff.');
  if (detached) throw refuse('a detached worker takes a brief alone', 'Leave out handoff, or detached.');
  if (passThrough) throw refuse('the end of the worker is the supervisor’s in any case', 'Leave out passThrough.');
  if (ask === 'supervisor')
    throw refuse('the supervisor is not there any more when the worker asks', "Let it ask a 'person' or a function.");
}

function isCode(agent: Agent): boolean {
  return agent.type === 'code';
}
