import type { AssistantPart, Message, ModelTurn, Part } from 'coxswain';

/** A tool call that has its result. */
export interface Answered {
  readonly name: string;
  readonly args: unknown;
  readonly result: string;
  readonly isError: boolean;
}

/** The input of the rules: the brief, and the calls since then. */
export interface Transcript {
  readonly brief: string;
  readonly answered: readonly Answered[];
}

/** Reads a transcript from the last message that a person or a supervisor wrote. */
export function transcriptOf(messages: readonly Message[]): Transcript {
  const start = messages.findLastIndex((message) => message.role === 'user' && message.from === undefined);
  const brief = messages[start];
  const calls = new Map<string, { name: string; args: unknown }>();
  const answered: Answered[] = [];
  for (const message of messages.slice(start + 1)) {
    if (message.role === 'assistant') {
      for (const part of message.content) {
        if (part.type === 'tool_call') calls.set(part.id, { name: part.name, args: parsed(part.arguments) });
      }
    } else if (message.role === 'tool') {
      const call = calls.get(message.callId);
      if (call !== undefined) answered.push({ ...call, result: textOf(message.content), isError: message.isError });
    }
  }
  return { brief: brief === undefined ? '' : textOf(brief.content), answered };
}

/** A turn with a text. It has no usage, since no tokens were spent. */
export function say(value: unknown): ModelTurn {
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }], stop: 'end' };
}

/** A turn that calls several tools at once. */
export function call(calls: readonly { readonly name: string; readonly args: unknown }[]): ModelTurn {
  const content = calls.map(({ name, args }, at) => ({
    type: 'tool_call' as const,
    id: `${name}_${at + 1}`,
    name,
    arguments: JSON.stringify(args),
  }));
  return { content, stop: 'tool_calls' };
}

/** The value of a JSON text, or undefined. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(content: string | readonly (Part | AssistantPart)[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
