import type { Tool } from '../contract/tool.ts';
import { priorCall } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { issueText } from '../schema/issue-text.ts';
import { parseArguments } from '../schema/parse-arguments.ts';
import { DivergenceError, type ErrorRecord } from '../values/errors.ts';
import { frozenCopy, type Json } from '../values/json.ts';
import type { ToolCall } from '../values/message.ts';

/** One requested call of a turn. `refused` is set where it must not run, whatever the permission step would say. */
export type ParsedCall = {
  readonly call: ToolCall;
  readonly args: Json;
} & (
  | { readonly tool: Tool; readonly refused?: undefined }
  | { readonly tool: Tool | undefined; readonly refused: ErrorRecord }
);

/** One that may run, as far as that follows from the call itself. */
export type RunnableCall = Extract<ParsedCall, { refused?: undefined }>;

/** Finds the tool and reads the arguments. Each mistake is a result for the model. */
export function resolveCall(call: ToolCall, tools: ReadonlyMap<string, Tool>): ParsedCall {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const names = [...new Set([...tools.values()].map(({ name }) => name))].join(', ');
    const message = `There is no tool ${JSON.stringify(call.name.slice(0, 64))}. Tools are: ${names || '(none)'}.`;
    return { call, tool, args: call.arguments, refused: { kind: 'unknown_tool', message, retryable: false } };
  }
  const parsed = parseArguments(call.arguments, tool.input);
  if (parsed.ok) return { call, tool, args: parsed.value as Json };
  return {
    call,
    tool,
    args: call.arguments,
    refused: { kind: parsed.kind, message: parsed.message, retryable: false },
  };
}

/** The arguments that were parsed, and perhaps shown to a person, before: parsing again may give others (defaults that are functions). */
export function recordedArguments(run: RunContext, key: string, parsed: ParsedCall): ParsedCall {
  const prior = priorCall(run, key);
  if (prior === undefined) return parsed;
  const { refused, hasStarted, args } = prior;
  if (refused !== undefined) return { ...parsed, refused };
  if (hasStarted && parsed.tool === undefined) throw removed(key, parsed.call.name);
  if (args === undefined || parsed.tool === undefined) return parsed;
  const { call, tool } = parsed;
  // A schema that would refuse them now changes nothing of a call that was made.
  return hasStarted ? { call, tool, args } : { ...parsed, args };
}

function removed(key: string, name: string): DivergenceError {
  const message = `${key}: recorded as a call of ${name}, which the agent has no longer. Give it the tool back (or its new name an alias), or fork the run before this.`;
  return new DivergenceError(key, ['tool'], message, [{ part: 'tool', recorded: name, now: 'no such tool' }]);
}

/** A call of a procedure's code; with the error for the code, where its arguments do not fit. */
export function resolveCodeCall(
  tool: Tool,
  args: unknown,
  key: string,
): { readonly parsed: ParsedCall; readonly error?: ErrorRecord } {
  const call = { type: 'tool_call', id: key, name: tool.name, arguments: JSON.stringify(args) ?? '' } as const;
  const checked = tool.input.validate(args);
  // A copy: the code may still change its own object while the call is judged.
  if (checked.ok) return { parsed: { call, tool, args: frozenCopy(checked.value as Json) } };
  const message = `${tool.name}: ${issueText(checked.issues, '; ')}`;
  const error = { kind: 'invalid_args', message, retryable: false };
  return { parsed: { call, tool, args: null, refused: error }, error };
}
