import { boundText } from '../../core/values/bound-json.ts';
import { isPlainObject } from '../../core/values/json.ts';

/** One message in the form in which a model that judges a conversation receives it. */
export interface ConversationText {
  readonly role: string;
  /** The tool whose result it is. */
  readonly tool?: string;
  readonly text: string;
}

/** Of one message, and of all together; in characters. What is older goes first. */
const MAX_MESSAGE = 4_000;
const MAX_CONVERSATION = 60_000;

/** Tools whose results are already in memory. */
const MEMORY_TOOL = /^memory_/;

/**
 * The texts of a transcript, the oldest first: those of the user and the assistant, and results of tools, without results of memory
 * tools and without messages of the loop itself.
 */
export function conversationOf(messages: readonly unknown[]): ConversationText[] {
  const texts = messages.flatMap((message): ConversationText[] => {
    if (!isPlainObject(message) || message.from === 'coxswain') return [];
    const { role, name, content } = message;
    const tool = typeof name === 'string' ? name : undefined;
    if (typeof role !== 'string' || (role === 'tool' && tool !== undefined && MEMORY_TOOL.test(tool))) return [];
    const text = boundText(textsOf(content), MAX_MESSAGE);
    if (text.trim() === '') return [];
    return [role === 'tool' && tool !== undefined ? { role, tool, text } : { role, text }];
  });
  let room = MAX_CONVERSATION;
  const from = texts.findLastIndex(({ text }) => {
    room -= text.length;
    return room < 0;
  });
  return texts.slice(from + 1);
}

/** The texts of all `memory_search` results in a transcript. */
export function recalledIn(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) => {
    if (!isPlainObject(message) || message.role !== 'tool' || message.name !== 'memory_search') return [];
    try {
      const result: unknown = JSON.parse(textsOf(message.content));
      const hits = isPlainObject(result) && Array.isArray(result.hits) ? result.hits : [];
      return hits.flatMap((hit: unknown) => (isPlainObject(hit) && typeof hit.text === 'string' ? [hit.text] : []));
    } catch {
      // A truncated result cannot be parsed.
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
