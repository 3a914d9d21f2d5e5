import type { Json } from '../../core/values/json.ts';
import type { AssistantPart, Message, Part } from '../../core/values/message.ts';
import type { StopReason } from '../../core/values/stop-reason.ts';
import { redact, redactor } from '../../security/redaction/secrets.ts';

/** Longest content attribute in characters, as Jaeger bounds its own. */
const MAX_CHARS = 65_536;
/** The length to which each text is truncated in a value that is too long. */
const SHORT = 2_048;

const FINISH: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  tool_calls: 'tool_call',
  length: 'length',
  filtered: 'content_filter',
  refused: 'refusal',
  paused: 'pause',
};

/** The conventions' word for why a turn ended. */
export function finishReason(stop: StopReason): string {
  return FINISH[stop];
}

/** A value as an attribute, with its secrets redacted. A value that is too long has its long texts truncated; if that does not suffice, it becomes the beginning of its JSON text. */
export function boundedValue(value: unknown): Json {
  if (typeof value === 'string') return truncate(redact(value));
  const text = JSON.stringify(value, redactor) ?? 'null';
  if (text.length <= MAX_CHARS) return JSON.parse(text) as Json;
  const shorter = JSON.stringify(JSON.parse(text), (_, item) =>
    typeof item === 'string' ? truncate(item, SHORT) : item,
  );
  return shorter.length <= MAX_CHARS ? (JSON.parse(shorter) as Json) : truncate(text);
}

/** `gen_ai.system_instructions`. */
export function instructionParts(instructions: string): Json {
  return [textPart(instructions)];
}

/**
 * `gen_ai.input.messages`: the newest messages that fit. Older ones are left out, and a message says how many, so that
 * the work does not grow with the history.
 */
export function inputMessages(messages: readonly Message[]): Json {
  const shown: Json[] = [];
  let chars = 0;
  let first = messages.length;
  while (first > 0) {
    const message = messages[first - 1];
    if (message === undefined) break;
    const shape = shapeOf(message);
    const size = JSON.stringify(shape).length;
    if (shown.length > 0 && chars + size > MAX_CHARS) break;
    chars += size;
    shown.push(shape);
    first -= 1;
  }
  if (first > 0) shown.push({ role: 'system', parts: [textPart(`[${first} earlier messages left out]`)] });
  return shown.reverse();
}

/** `gen_ai.output.messages` of a turn or of an agent's text. */
export function outputMessages(content: string | readonly AssistantPart[], finish: string): Json {
  const parts = typeof content === 'string' ? [textPart(content)] : content.map(partOf);
  return [{ role: 'assistant', parts, finish_reason: finish }];
}

function shapeOf(message: Message): Json {
  if (message.role === 'tool') {
    const { content } = message;
    const response = typeof content === 'string' ? truncate(redact(content)) : content.map(partOf);
    return { role: 'tool', parts: [{ type: 'tool_call_response', id: message.callId, response }] };
  }
  const { content } = message;
  return { role: message.role, parts: typeof content === 'string' ? [textPart(content)] : content.map(partOf) };
}

function partOf(part: Part | AssistantPart): Json {
  switch (part.type) {
    case 'text':
      return textPart(part.text);
    case 'reasoning':
      return { type: 'reasoning', content: truncate(redact(part.text ?? '')) };
    case 'tool_call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: truncate(redact(part.arguments)) };
    case 'image':
    case 'file': {
      const modality = part.type === 'image' ? 'image' : 'document';
      const about = { modality, mime_type: part.mediaType };
      if (typeof part.data !== 'string') return { type: 'uri', ...about, uri: redact(part.data.url) };
      // Truncated bytes could not be decoded.
      return { type: 'blob', ...about, content: part.data.length > MAX_CHARS ? '' : part.data };
    }
  }
}

function textPart(text: string): { type: 'text'; content: string } {
  return { type: 'text', content: truncate(redact(text)) };
}

function truncate(text: string, max: number = MAX_CHARS): string {
  if (text.length <= max) return text;
  const front = text.slice(0, max).toWellFormed();
  return `${front} [${text.length - max} characters left out]`;
}
