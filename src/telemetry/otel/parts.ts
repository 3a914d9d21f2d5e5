import type { Json } from '../../core/values/json.ts';
import type { AssistantPart, Message, Part } from '../../core/values/message.ts';
import type { StopReason } from '../../core/values/model.ts';
import { redact, redactor } from '../../security/redaction/secrets.ts';

/** Longest content attribute in characters, as Jaeger bounds its own. */
const MAX_CHARS = 65_536;
/** What is left of each text in a value that is too long. */
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

/** A value as an attribute, its secrets redacted: as it is where it is short enough, its long texts cut where that helps, else the front of its JSON text. */
export function boundedValue(value: unknown): Json {
  if (typeof value === 'string') return cut(redact(value));
  const text = JSON.stringify(value, redactor) ?? 'null';
  if (text.length <= MAX_CHARS) return JSON.parse(text) as Json;
  const shorter = JSON.stringify(JSON.parse(text), (_, item) => (typeof item === 'string' ? cut(item, SHORT) : item));
  return shorter.length <= MAX_CHARS ? (JSON.parse(shorter) as Json) : cut(text);
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
    const response = typeof content === 'string' ? cut(redact(content)) : content.map(partOf);
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
      return { type: 'reasoning', content: cut(redact(part.text ?? '')) };
    case 'tool_call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: cut(redact(part.arguments)) };
    case 'image':
    case 'file': {
      const modality = part.type === 'image' ? 'image' : 'document';
      const about = { modality, mime_type: part.mediaType };
      if (typeof part.data !== 'string') return { type: 'uri', ...about, uri: redact(part.data.url) };
      // Bytes cannot be cut and still be read.
      return { type: 'blob', ...about, content: part.data.length > MAX_CHARS ? '' : part.data };
    }
  }
}

function textPart(text: string): { type: 'text'; content: string } {
  return { type: 'text', content: cut(redact(text)) };
}

function cut(text: string, max: number = MAX_CHARS): string {
  if (text.length <= max) return text;
  const kept = text.slice(0, max).toWellFormed();
  return `${kept} [${text.length - max} characters left out]`;
}
