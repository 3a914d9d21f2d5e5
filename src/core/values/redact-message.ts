import type { AssistantPart, Message, Part } from './message.ts';

/** Removes from a text what a model must not see. */
export type Redact = (text: string) => string;

/** A message as a model is sent it: the transcript holds this form, so that log, hash and request agree. What a model said itself is kept as its provider has it. */
export function redactMessage(message: Message, redact: Redact | undefined): Message {
  if (redact === undefined || (message.role === 'assistant' && message.native !== undefined)) return message;
  if (message.role === 'assistant')
    return Object.freeze({ ...message, content: message.content.map((part) => assistantPart(part, redact)) });
  const { content } = message;
  const redacted = typeof content === 'string' ? redact(content) : content.map((part) => redactPart(part, redact));
  return Object.freeze({ ...message, content: redacted } as Message);
}

function redactPart(part: Part, redact: Redact): Part {
  return part.type === 'text' ? { ...part, text: redact(part.text) } : part;
}

function assistantPart(part: AssistantPart, redact: Redact): AssistantPart {
  switch (part.type) {
    case 'text':
      return { ...part, text: redact(part.text) };
    case 'tool_call':
      return { ...part, arguments: redact(part.arguments) };
    case 'reasoning':
      return part;
  }
}

/** A worker's input with all its texts so. */
export function redactInput(input: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return input;
  if (typeof input === 'string') return redact(input);
  if (Array.isArray(input)) return input.map((item) => redactInput(item, redact));
  if (input === null || typeof input !== 'object') return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, redactInput(value, redact)]));
}
