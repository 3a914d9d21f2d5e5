import type { AgentIn, ModelIn, ToolIn } from '../../core/contract/boundary.ts';
import type { Decision } from '../../core/contract/permission.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';
import { canonical, type Json, sha256 } from '../../core/values/json.ts';
import { type AssistantPart, type Message, type Part, textOf, toolCallsOf } from '../../core/values/message.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { ToolOut } from '../../core/values/tool-value.ts';
import type { OfferedNames } from './offered-names.ts';

/** How much content a log holds: `none` has only names, counts, sizes and hashes. No choice writes secrets. */
export type Content = 'none' | 'redacted' | 'full';

/** Plain data as JSON: the core's types are JSON but for their optional fields. */
function json(value: unknown): Json {
  return value as Json;
}

export function loggedMessage(message: Message, content: Content, offered: OfferedNames): Json {
  if (content !== 'none') return json(message);
  const { role } = message;
  const size = sizeOf(message.content);
  switch (role) {
    case 'user':
      return { role, ...size };
    case 'assistant':
      return { role, calls: toolCallsOf(message.content).map(({ name }) => offered.nameOf(name)), ...size };
    case 'tool': {
      const { callId, name, isError } = message;
      return { role, callId, name: offered.nameOf(name), isError, ...size };
    }
  }
}

/** The parts of a request that seldom change, as a log shows them. */
export function requestParts(request: ModelIn, content: Content): Record<string, Json> {
  const { model, instructions, tools, settings, toolChoice, output } = request;
  if (content === 'none') {
    return {
      model,
      instructions: { chars: instructions.length, hash: sha256(instructions) },
      tools: tools.map((tool) => tool.name),
    };
  }
  return {
    model,
    instructions,
    tools: json(tools),
    settings: json(settings),
    toolChoice: toolChoice ?? null,
    output: output ?? null,
  };
}

export function loggedTurn(turn: ModelTurn, content: Content): Json {
  const { usage: _, costUsd: __, ...answer } = turn;
  if (content !== 'none') return json(answer);
  return { stop: turn.stop, parts: turn.content.length, ...sizeOf(turn.content), ...responseOf(turn) };
}

export function loggedCalls(turn: ModelTurn, content: Content, offered: OfferedNames): Json[] {
  return toolCallsOf(turn.content).map(({ id, name, arguments: text }) =>
    content === 'none' ? { id, name: offered.nameOf(name), chars: text.length } : { id, name, arguments: text },
  );
}

/** The input of a procedure. */
export function loggedInput({ input = null }: AgentIn, content: Content): { readonly input?: Json } {
  return content === 'none' ? {} : { input: json(input) };
}

/** The result of a call. For a call that code made: also its arguments and its complete value. */
export function loggedResult(
  call: Pick<ToolIn, 'callId' | 'name' | 'given'>,
  out: Partial<Pick<ToolOut, 'content' | 'error' | 'forCode'>> & Pick<ToolOut, 'isError'>,
  content: Content,
  offered: OfferedNames,
): Json {
  if (content !== 'none' && call.given !== undefined) {
    const { callId, name, given } = call;
    const { isError, forCode, error } = out;
    const value = forCode === undefined ? { content: json(out.content) } : json(forCode);
    return { callId, name, arguments: given, isError, ...(value as object), ...(error && { error: json(error) }) };
  }
  const error = out.error === undefined ? {} : { error: loggedError(out.error, content) };
  const value =
    out.content === undefined ? {} : content === 'none' ? sizeOf(out.content) : { content: json(out.content) };
  const isMadeUp = content === 'none' && out.error?.kind === 'unknown_tool';
  const name = isMadeUp ? offered.nameOf(call.name) : call.name;
  return { callId: call.callId, name, isError: out.isError, ...value, ...error };
}

export function loggedError(error: ErrorRecord, content: Content): Json {
  if (content !== 'none') return json(error);
  const { message: _, ...facts } = error;
  return facts;
}

/** The value of an effect. */
export function loggedValue(value: Json, content: Content): Json {
  if (content !== 'none') return { ok: true, value };
  const text = canonical(value);
  return { ok: true, chars: text.length, hash: sha256(text) };
}

export function loggedDecision(
  decision: Decision | { readonly decision: 'deny'; readonly tool: string },
  content: Content,
): Json {
  if (content !== 'none') return json(decision);
  return { decision: decision.decision, ...('tool' in decision ? { tool: decision.tool } : {}) };
}

function responseOf(turn: ModelTurn): Record<string, Json> {
  return {
    ...(turn.response === undefined ? {} : { response: json(turn.response) }),
    ...(turn.by === undefined ? {} : { by: json(turn.by) }),
  };
}

function sizeOf(content: string | readonly (Part | AssistantPart)[]): { chars: number } {
  return { chars: textOf(content).length };
}
