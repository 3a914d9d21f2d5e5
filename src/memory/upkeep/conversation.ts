import { boundText } from '../../core/values/bound.ts';
import { isPlainObject } from '../../core/values/json.ts';

/** One message as a model that judges a conversation is shown it. */
export interface Said {
  readonly role: string;
  /** Of the tool that gave it. */
  readonly tool?: string;
  readonly text: string;
}

/** Of one message, and of all together; in characters. What is older goes first. */
const MAX_MESSAGE = 4_000;
const MAX_CONVERSATION = 60_000;

/** Tools whose results are what is remembered already. */
const MEMORY_TOOL = /^memory_/;

/**
 * What was said in a transcript, the oldest first: texts of the user and the assistant, and results of tools, without what was
 * recalled from memory and without what the loop itself told the model.
 */
export function conversationOf(messages: readonly unknown[]): Said[] {
  const said = messages.flatMap((message): Said[] => {
    if (!isPlainObject(message) || message.from === 'coxswain') return [];
    const { role, name, content } = message;
    const tool = typeof name === 'string' ? name : undefined;
    if (typeof role !== 'string' || (role === 'tool' && tool !== undefined && MEMORY_TOOL.test(tool))) return [];
    const text = boundText(textsOf(content), MAX_MESSAGE);
    if (text.trim() === '') return [];
    return [role === 'tool' && tool !== undefined ? { role, tool, text } : { role, text }];
  });
  let room = MAX_CONVERSATION;
  const from = said.findLastIndex(({ text }) => {
    room -= text.length;
    return room < 0;
  });
  return said.slice(from + 1);
}

/** The texts of what `memory_search` gave in a transcript. */
export function recalledIn(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) => {
    if (!isPlainObject(message) || message.role !== 'tool' || message.name !== 'memory_search') return [];
    try {
      const result: unknown = JSON.parse(textsOf(message.content));
      const hits = isPlainObject(result) && Array.isArray(result.hits) ? result.hits : [];
      return hits.flatMap((hit: unknown) => (isPlainObject(hit) && typeof hit.text === 'string' ? [hit.text] : []));
    } catch {
      // A result that was cut: what it held is not known any more.
      return [];
    }
  });
}

function textsOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: unknown) =>
    isPlainObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : '',
  );
  return texts.filter((text) => text !== '').join('\n');
}
