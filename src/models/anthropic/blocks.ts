import { endOfString } from '../../core/schema/strict-json.ts';
import { ModelError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { AssistantMessage, Message, Part, ToolMessage } from '../../core/values/message.ts';
import { type DistinctIds, distinctIds } from '../answer/distinct-ids.ts';
import { nativeFor, type TurnOrigin, wellFormed } from '../answer/native-turn.ts';
import { bodyFields, listField } from '../failure/fields.ts';
import { RULES } from '../request/check-request.ts';
import { legalName } from '../request/tool-name.ts';
import { type WireLine, wireLines } from '../wire-lines.ts';

/** Longest name of a tool. */
export const ANTHROPIC_MAX_NAME = RULES.messages.maxName;
/** Longest id of a call. */
const MAX_ID = 64;

export type Block = { readonly [field: string]: unknown };
export interface AnthropicMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

/**
 * Converts transcripts to the form of the Messages API: roles alternate, all results of a turn come first in the one user message after
 * it, no text is blank.
 */
export function messagesTranscripts(origin: TurnOrigin): (messages: readonly Message[]) => AnthropicMessage[] {
  return wireLines(() => new BlockLine(origin));
}

class BlockLine implements WireLine<AnthropicMessage> {
  readonly #origin: TurnOrigin;
  readonly #wire: { role: AnthropicMessage['role']; content: Block[] }[] = [];
  readonly #ids = distinctIds(MAX_ID);
  /** Earlier messages are in a list that was already returned. */
  #given = 0;

  constructor(origin: TurnOrigin) {
    this.#origin = origin;
  }

  add(message: Message): void {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = convert(message, this.#origin).map((block) => withDistinctId(block, this.#ids));
    if (blocks.length === 0) return;
    const last = this.#wire.at(-1);
    // The API wants a user message first, with something in it.
    if (last === undefined && role === 'assistant') this.#wire.push({ ...NO_INPUT, content: [...NO_INPUT.content] });
    if (last?.role !== role) this.#wire.push({ role, content: blocks });
    else if (this.#wire.length > this.#given) last.content.push(...blocks);
    else this.#goOn({ role, content: [...last.content, ...blocks] });
  }

  #goOn(last: { role: AnthropicMessage['role']; content: Block[] }): void {
    this.#wire[this.#wire.length - 1] = last;
    this.#given = this.#wire.length - 1;
  }

  list(): AnthropicMessage[] {
    this.#given = this.#wire.length;
    return this.#wire.length === 0 ? [NO_INPUT] : this.#wire.slice();
  }
}

const NO_INPUT = { role: 'user', content: [{ type: 'text', text: '(no input)' }] } as const;

function withDistinctId(block: Block, ids: DistinctIds): Block {
  const { type, id, tool_use_id } = block;
  if (type === 'tool_use' && typeof id === 'string') {
    const given = ids.call(id);
    return given === id ? block : { ...block, id: given };
  }
  if (type !== 'tool_result' || typeof tool_use_id !== 'string') return block;
  const given = ids.result(tool_use_id);
  return given === tool_use_id ? block : { ...block, tool_use_id: given };
}

function convert(message: Message, origin: TurnOrigin): readonly Block[] {
  switch (message.role) {
    case 'user':
      return contentBlocks(message.content);
    case 'assistant':
      return nativeBlocks(message, origin) ?? neutralBlocks(message);
    case 'tool':
      return [toolResult(message)];
  }
}

function toolResult({ callId, content, isError }: ToolMessage): Block {
  const blocks = contentBlocks(content);
  return {
    type: 'tool_result',
    tool_use_id: legalName(callId, MAX_ID),
    ...(blocks.length === 0 ? {} : { content: blocks }),
    ...(isError ? { is_error: true } : {}),
  };
}

/** The provider's own blocks, in their order, where they came from here. */
function nativeBlocks(message: AssistantMessage, origin: TurnOrigin): readonly Block[] | undefined {
  const turn = nativeFor(message, 'anthropic', origin, (own) =>
    listField(own).flatMap((block) => (bodyFields(block).type === 'tool_use' ? [bodyFields(block).id] : [])),
  );
  return turn === undefined ? undefined : listField(turn).map(bodyFields).flatMap(replayed).map(wellFormed);
}

/** A block as it may go back: as it came, but for what the API itself refuses. */
function replayed(block: Block): Block[] {
  switch (block.type) {
    case 'text':
      return isBlank(block.text) ? [] : [{ ...block, text: String(block.text).toWellFormed() }];
    case 'tool_use':
      return [
        { ...block, id: legalName(String(block.id), MAX_ID), name: legalName(String(block.name), ANTHROPIC_MAX_NAME) },
      ];
    case 'thinking':
      // Without its signature a thought is refused.
      return isBlank(block.signature) ? [] : [block];
    case 'redacted_thinking':
      return isBlank(block.data) ? [] : [block];
    default:
      return [block];
  }
}

function neutralBlocks({ content }: AssistantMessage): Block[] {
  const blocks: Block[] = [];
  for (const part of content) {
    if (part.type === 'text' && !isBlank(part.text)) blocks.push({ type: 'text', text: part.text.toWellFormed() });
    if (part.type === 'tool_call') {
      blocks.push({
        type: 'tool_use',
        id: legalName(part.id, MAX_ID),
        name: legalName(part.name, ANTHROPIC_MAX_NAME),
        input: inputOf(part.arguments),
      });
    }
  }
  return blocks;
}

/** Arguments as the object that the API requires. Invalid ones are sent back in a field that marks them. */
export function inputOf(text: string): { readonly [name: string]: unknown } {
  if (text.trim() === '') return {};
  if (isTooDeep(text)) return { INVALID_JSON: '(nested too deep)' };
  try {
    const value: unknown = JSON.parse(text.toWellFormed());
    if (isPlainObject(value)) return value;
  } catch {
    // The model wrote it, and the result of the call names the problem.
  }
  return { INVALID_JSON: text.toWellFormed() };
}

/** Deeper than this the engine runs out of stack when it freezes or writes the value. */
const MAX_DEPTH = 500;

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function contentBlocks(content: string | readonly Part[]): Block[] {
  const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return parts.filter((part) => part.type !== 'text' || !isBlank(part.text)).map(partBlock);
}

function partBlock(part: Part): Block {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() };
  const { mediaType, data, name } = part;
  const source =
    typeof data === 'string' ? { type: 'base64', media_type: mediaType, data } : { type: 'url', url: data.url };
  if (part.type === 'image') return { type: 'image', source };
  const title = name === undefined ? {} : { title: name.toWellFormed() };
  if (typeof data === 'string' && mediaType.startsWith('text/')) {
    const text = Buffer.from(data, 'base64').toString('utf8').toWellFormed();
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
  }
  if (mediaType !== 'application/pdf') {
    throw new ModelError('invalid_request', `anthropic: a file of type ${mediaType} cannot be sent, only PDF and text`);
  }
  return { type: 'document', source, ...title };
}

function isBlank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === '';
}
