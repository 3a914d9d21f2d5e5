import { boundJson, boundText } from './bound-json.ts';
import { type ErrorRecord, ToolError } from './errors.ts';
import { deepFreeze, isPlainObject } from './json.ts';
import type { Label } from './label.ts';
import type { Part } from './message.ts';
import type { Redact } from './redact-message.ts';

/** What a tool returned, detached from the tool: text as it is, JSON as its text, or content parts. */
export type ToolValue =
  | { readonly form: 'text' | 'json'; readonly content: string }
  | { readonly form: 'parts'; readonly content: readonly Part[] };

/** What a call gave. */
export interface ToolOut {
  /** As the model sees it: bounded, with a note where it was truncated. */
  readonly content: string | readonly Part[];
  readonly isError: boolean;
  readonly label: Label;
  /** Whether content is only front and back of the whole. */
  readonly cut?: boolean;
  /** What code that made the call was given: the whole. */
  readonly forCode?: ToolValue;
  readonly error?: ErrorRecord;
}

/** A string is the content as it is; parts are content parts; anything else must be what JSON can hold. `undefined` is null. */
export function toolValue(value: unknown): ToolValue {
  if (typeof value === 'string') return { form: 'text', content: value };
  const parts = readParts(value);
  if (parts !== undefined) return { form: 'parts', content: parts };
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

/** The value for code: parsed anew, so that no two callers share it. */
export function valueForCode(value: ToolValue): unknown {
  return value.form === 'json' ? JSON.parse(value.content) : value.content;
}

/** What a model may see of a truncated result. */
export interface Visible {
  /** Where the whole can be read again. */
  readonly ref?: string | undefined;
  /** Applied to the whole before it is truncated: half of a secret is not recognised. */
  readonly redact?: Redact | undefined;
}

/** How a result is bounded for a model. */
export interface Bounds extends Visible {
  /** In characters. */
  readonly max: number;
  /** JSON stays JSON: its fields are bounded, and not its text. */
  readonly byField?: boolean | undefined;
}

/** The result as a model sees it: front and back of each text, at most `max` characters in all. */
export function toolOut(value: ToolValue, bounds: Bounds, label: Label): ToolOut {
  const { max, ref, byField, redact } = bounds;
  if (value.form !== 'parts') {
    if (value.content.length <= max) return { content: value.content, isError: false, label };
    const whole = redact === undefined ? value.content : redact(value.content);
    const bounded = byField && value.form === 'json' ? boundJson(whole, max, ref) : undefined;
    const content = bounded ?? boundText(whole, max, ref);
    return content === whole ? { content, isError: false, label } : { content, isError: false, label, cut: true };
  }
  let left = max;
  let cut = false;
  let unsaid = 0;
  let offset = 0;
  const content: Part[] = [];
  for (const part of value.content) {
    if (part.type !== 'text') content.push(part);
    // One note says what was left out; the parts after it have no room.
    else if (left > 0 || part.text === '') {
      const whole = part.text.length > left && redact !== undefined ? redact(part.text) : part.text;
      const text = boundText(whole, left, ref, offset);
      offset += whole.length;
      left = Math.max(0, left - text.length);
      cut ||= text !== whole;
      content.push({ type: 'text', text });
    } else if (part.text !== '') {
      unsaid += part.text.length;
      cut = true;
    }
  }
  if (unsaid > 0) content.push({ type: 'text', text: `[… ${unsaid} characters of further parts left out …]` });
  return cut
    ? { content: deepFreeze(content), isError: false, label, cut }
    : { content: deepFreeze(content), isError: false, label };
}

/** Content parts, copied with the fields that a part has; undefined where the value is none. */
function readParts(value: unknown): Part[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const parts: Part[] = [];
  for (const item of value) {
    const part = readPart(item);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function readPart(value: unknown): Part | undefined {
  if (!isPlainObject(value)) return undefined;
  const { type, text, mediaType, data, name } = value;
  if (type === 'text') return typeof text === 'string' ? { type, text } : undefined;
  if ((type !== 'image' && type !== 'file') || typeof mediaType !== 'string') return undefined;
  const named = typeof name === 'string' ? { name } : {};
  if (typeof data === 'string') return { type, mediaType, data, ...named };
  const url = isPlainObject(data) ? data.url : undefined;
  return typeof url === 'string' ? { type, mediaType, data: { url }, ...named } : undefined;
}
