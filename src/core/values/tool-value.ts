import { type ErrorRecord, ToolError } from './errors.ts';
import { isPlainObject } from './json.ts';
import type { Label } from './label.ts';
import type { Part } from './message.ts';

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
