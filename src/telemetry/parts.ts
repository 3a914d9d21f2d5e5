import type { Json } from '../core/json.ts';
import type { AssistantPart, Message, Part } from '../core/message.ts';
import type { StopReason } from '../core/model.ts';
import { redact, redactor } from './redact.ts';

/** Longest content attribute in characters, as Jaeger bounds its own. */
const MAX_CHARS = 65_536;

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

/** A value as the text of an attribute, its secrets redacted; JSON unless it is a text already, and cut where it is too long. */
export function valueText(value: unknown): string {
  return cut(typeof value === 'string' ? redact(value) : (JSON.stringify(value, redactor) ?? 'null'));
}

/** `gen_ai.system_instructions`. */
export function instructionsText(instructions: string): string {
  return JSON.stringify([textPart(instructions)]);
}

/**
 * `gen_ai.input.messages`: the newest messages that fit. Older ones are left out, and a message says how many, so that
 * the work does not grow with the history and the text stays JSON.
 */
export function messagesText(messages: readonly Message[]): string {
  const texts: string[] = [];
  let chars = 0;
  let first = messages.length;
  while (first > 0) {
    const message = messages[first - 1];
    if (message === undefined) break;
    const text = JSON.stringify(shapeOf(message));
    if (texts.length > 0 && chars + text.length > MAX_CHARS) break;
    chars += text.length;
    texts.push(text);
    first -= 1;
  }
  if (first > 0) {
    texts.push(JSON.stringify({ role: 'system', parts: [textPart(`[${first} earlier messages left out]`)] }));
  }
  return `[${texts.reverse().join(',')}]`;
}

/** `gen_ai.output.messages` of a turn or of an agent's text. */
export function outputText(content: string | readonly AssistantPart[], finish: string): string {
  const parts = typeof content === 'string' ? [textPart(content)] : content.map(partOf);
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finish }]);
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

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const kept = text.slice(0, MAX_CHARS).toWellFormed();
  return `${kept} [${text.length - MAX_CHARS} characters left out]`;
}
