import { boundJson, boundText } from './bound-json.ts';
import { deepFreeze } from './json.ts';
import type { Label } from './label.ts';
import type { Part } from './message.ts';
import type { Redact } from './redact-message.ts';
import type { ToolOut, ToolValue } from './tool-value.ts';

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
  let isTruncated = false;
  let leftOut = 0;
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
      isTruncated ||= text !== whole;
      content.push({ type: 'text', text });
    } else if (part.text !== '') {
      leftOut += part.text.length;
      isTruncated = true;
    }
  }
  if (leftOut > 0) content.push({ type: 'text', text: `[… ${leftOut} characters of further parts left out …]` });
  return isTruncated
    ? { content: deepFreeze(content), isError: false, label, cut: true }
    : { content: deepFreeze(content), isError: false, label };
}
