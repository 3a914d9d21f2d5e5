import { boundText } from './bound.ts';
import { ToolError } from './errors.ts';
import { deepFreeze, isPlainObject } from './json.ts';
import type { Label } from './label.ts';
import type { Part } from './message.ts';
import type { ToolOut } from './record.ts';

/** What a tool returned, detached from the tool: text as it is, JSON as its text, or content parts. */
export type ToolValue =
  | { readonly form: 'text' | 'json'; readonly content: string }
  | { readonly form: 'parts'; readonly content: readonly Part[] };

/** A string is the content as it is; parts are content parts; anything else must be what JSON can hold. `undefined` is null. */
export function toolValue(value: unknown): ToolValue {
  if (typeof value === 'string') return { form: 'text', content: value };
  if (isParts(value)) return { form: 'parts', content: structuredClone(value) };
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ToolError('threw', 'the result cannot be written as JSON (a cycle, a BigInt or a getter that throws)', {
      cause,
    });
  }
  if (text === undefined && value !== undefined)
    throw new ToolError('threw', `the result is a ${typeof value}, which JSON cannot hold`);
  return { form: 'json', content: text ?? 'null' };
}

/** The value for code: parsed anew, so that nobody shares it. */
export function valueForCode(value: ToolValue): unknown {
  return value.form === 'json' ? JSON.parse(value.content) : value.content;
}

/** The result as a model is told it: front and back of each text, at most `max` characters in all. */
export function toolOut(value: ToolValue, max: number, label: Label): ToolOut {
  if (value.form !== 'parts') {
    const content = boundText(value.content, max);
    return content === value.content
      ? { content, isError: false, label }
      : { content, isError: false, label, cut: true };
  }
  let left = max;
  let cut = false;
  const content = value.content.map((part) => {
    if (part.type !== 'text') return part;
    const text = boundText(part.text, left);
    left = Math.max(0, left - text.length);
    cut ||= text !== part.text;
    return { type: 'text', text } as const;
  });
  return cut
    ? { content: deepFreeze(content), isError: false, label, cut }
    : { content: deepFreeze(content), isError: false, label };
}

function isParts(value: unknown): value is Part[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((part: unknown) => {
    if (!isPlainObject(part)) return false;
    if (part.type === 'text') return typeof part.text === 'string';
    if (part.type !== 'image' && part.type !== 'file') return false;
    const data = part.data;
    return (
      typeof part.mediaType === 'string' &&
      (typeof data === 'string' || (isPlainObject(data) && typeof data.url === 'string'))
    );
  });
}
