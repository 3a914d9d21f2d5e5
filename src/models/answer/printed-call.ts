import { isPlainObject } from '../../core/values/json.ts';
import type { ToolCall } from '../../core/values/message.ts';
import { textOf } from '../../core/values/message.ts';
import type { ModelTurn, ToolDefinition } from '../../core/values/model.ts';

/**
 * The marks around a call that a weak model printed as text and its server did not recognise. Bare JSON is not a mark: a user may have
 * requested JSON that looks like a call.
 */
const MARKS: readonly RegExp[] = [
  /^<tool_call>\s*(\{[\s\S]*\})\s*<\/tool_call>$/,
  /^\[TOOL_CALLS\]\s*\[\s*(\{[\s\S]*\})\s*\]$/,
  /^<\|tool_call\|>\s*(\{[\s\S]*\})\s*(?:<\/?\|tool_call\|>)?$/,
  /^<\|python_tag\|>\s*(\{[\s\S]*\})\s*(?:<\|eom_id\|>)?$/,
];

/**
 * The turn with its text as a call, where the whole answer is exactly one call of an offered tool, printed between the
 * marks of a chat template; else the turn as it is. The arguments stay the text that the model wrote.
 */
export function withPrintedCall(turn: ModelTurn, offered: readonly ToolDefinition[], newId: () => string): ModelTurn {
  if (turn.stop !== 'end' || offered.length === 0) return turn;
  const call = printedCall(textOf(turn.content), offered);
  if (call === undefined) return turn;
  // The provider's own turn has no call in it: the neutral one goes back.
  const { native, ...rest } = turn;
  const thoughts = turn.content.filter((part) => part.type === 'reasoning');
  return { ...rest, content: [...thoughts, { ...call, id: newId() }], stop: 'tool_calls' };
}

function printedCall(text: string, offered: readonly ToolDefinition[]): Omit<ToolCall, 'id'> | undefined {
  const trimmed = text.trim();
  if (!/^[<[]/.test(trimmed)) return undefined;
  const json = MARKS.map((mark) => mark.exec(trimmed)?.[1]).find((found) => found !== undefined);
  const printed = json === undefined ? undefined : parsed(json);
  if (json === undefined || printed === undefined) return undefined;
  const field = ['arguments', 'parameters'].find((name) => Object.hasOwn(printed, name));
  const { name } = printed;
  if (field === undefined || Object.keys(printed).length !== 2 || !isPlainObject(printed[field])) return undefined;
  if (typeof name !== 'string' || !offered.some((tool) => tool.name === name)) return undefined;
  return { type: 'tool_call', name, arguments: sourceOf(json, field) ?? JSON.stringify(printed[field]) };
}

/** The field's own text, if it is the last field, as in every template, so that numbers are not rounded. */
function sourceOf(json: string, field: string): string | undefined {
  const start = new RegExp(`"${field}"\\s*:\\s*(?=\\{)`).exec(json);
  const source = start === null ? '' : json.slice(start.index + start[0].length, json.lastIndexOf('}')).trim();
  return parsed(source) === undefined ? undefined : source;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
