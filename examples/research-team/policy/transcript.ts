import type { AssistantPart, Message, ModelTurn, Part } from 'coxswain';

/** A tool call that has its result. */
export interface Answered {
  readonly name: string;
  readonly args: unknown;
  readonly result: string;
  readonly isError: boolean;
}

/** What the rules look at: the brief, and what was called since. */
export interface Transcript {
  readonly brief: string;
  readonly answered: readonly Answered[];
}

/** Reads a transcript from the last message a person or a supervisor wrote. */
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

/** The turn that says something. No usage: no tokens were spent. */
export function say(value: unknown): ModelTurn {
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }], stop: 'end' };
}

/** The turn that calls tools, all at once. */
export function call(calls: readonly { readonly name: string; readonly args: unknown }[]): ModelTurn {
  const content = calls.map(({ name, args }, at) => ({
    type: 'tool_call' as const,
    id: `${name}_${at + 1}`,
    name,
    arguments: JSON.stringify(args),
  }));
  return { content, stop: 'tool_calls' };
}

/** JSON, or nothing. */
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
