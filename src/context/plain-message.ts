import { isPlainObject } from '../core/values/json.ts';
import type { AssistantPart, Message } from '../core/values/message.ts';

type Fields = Record<string, unknown>;

/**
 * The commonest messages as frozen copies: a text of either side, a turn of texts and calls, a result that is text; each with
 * its own fields and no other. Undefined for all else, which is then read in full.
 */
export function plainMessage(value: unknown): Message | undefined {
  if (!isPlainObject(value)) return undefined;
  switch (value.role) {
    case 'user':
      return plainUser(value);
    case 'assistant':
      return plainTurn(value);
    case 'tool':
      return plainResult(value);
    default:
      return undefined;
  }
}

function plainUser(value: Fields): Message | undefined {
  const { content } = value;
  return typeof content === 'string' && count(value) === 2 ? Object.freeze({ role: 'user', content }) : undefined;
}

function plainTurn(value: Fields): Message | undefined {
  const { content } = value;
  if (count(value) !== 2) return undefined;
  if (typeof content === 'string') {
    const parts = Object.freeze([Object.freeze({ type: 'text', text: content } as const)]);
    return Object.freeze({ role: 'assistant', content: parts });
  }
  if (!Array.isArray(content)) return undefined;
  const parts: AssistantPart[] = [];
  for (const one of content) {
    const part = plainPart(one);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return Object.freeze({ role: 'assistant', content: Object.freeze(parts) });
}

function plainPart(value: unknown): AssistantPart | undefined {
  if (!isPlainObject(value)) return undefined;
  const { type, text, id, name, arguments: args } = value;
  if (type === 'text')
    return typeof text === 'string' && count(value) === 2 ? Object.freeze({ type, text }) : undefined;
  if (type !== 'tool_call' || typeof id !== 'string' || typeof name !== 'string' || typeof args !== 'string')
    return undefined;
  return count(value) === 4 ? Object.freeze({ type, id, name, arguments: args }) : undefined;
}

function plainResult(value: Fields): Message | undefined {
  const { callId, name, content, isError } = value;
  if (typeof callId !== 'string' || typeof name !== 'string' || typeof content !== 'string') return undefined;
  if (typeof isError === 'boolean') {
    return count(value) === 5 ? Object.freeze({ role: 'tool', callId, name, content, isError }) : undefined;
  }
  return count(value) === 4 ? Object.freeze({ role: 'tool', callId, name, content, isError: false }) : undefined;
}

function count(value: Fields): number {
  let fields = 0;
  for (const _ in value) fields += 1;
  return fields;
}
