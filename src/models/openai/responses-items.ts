import { ModelError } from '../../core/values/errors.ts';
import {
  type AssistantMessage,
  type Message,
  type Part,
  type ToolMessage,
  textOf,
  toolCallsOf,
} from '../../core/values/message.ts';
import { type DistinctIds, distinctIds } from '../answer/distinct-ids.ts';
import { nativeFor, type TurnOrigin, wellFormed } from '../answer/native-turn.ts';
import { type BodyFields, bodyFields, listField, textField } from '../failure/fields.ts';
import { legalName } from '../request/tool-name.ts';
import { type WireLine, wireLines } from '../wire-lines.ts';
import { wireFunction } from './chat-messages.ts';

/** Longest id of a call. */
const MAX_ID = 64;

export type Item = { readonly [field: string]: unknown };

/** Where items go. `keepsPlainReasoning` is false where an endpoint refuses thoughts that it did not encrypt. */
export interface Destination {
  readonly origin: TurnOrigin;
  readonly keepsPlainReasoning: boolean;
}

/** Converts transcripts to the items of `input`. */
export function responsesTranscripts(destination: Destination): (messages: readonly Message[]) => Item[] {
  return wireLines(() => new ItemLine(destination));
}

class ItemLine implements WireLine<Item> {
  readonly #destination: Destination;
  readonly #items: Item[] = [];
  readonly #ids = distinctIds(MAX_ID);

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  add(message: Message): void {
    for (const item of convert(message, this.#destination)) this.#items.push(withDistinctId(item, this.#ids));
  }

  list(): Item[] {
    return this.#items.slice();
  }
}

function withDistinctId(item: Item, ids: DistinctIds): Item {
  const { type, call_id } = item;
  if (typeof call_id !== 'string' || (type !== 'function_call' && type !== 'function_call_output')) return item;
  const given = type === 'function_call' ? ids.call(call_id) : ids.result(call_id);
  return given === call_id ? item : { ...item, call_id: given };
}

function convert(message: Message, destination: Destination): readonly Item[] {
  switch (message.role) {
    case 'user': {
      const { content } = message;
      return [{ role: 'user', content: typeof content === 'string' ? content.toWellFormed() : content.map(wirePart) }];
    }
    case 'assistant': {
      const native = nativeFor(message, 'openai', destination.origin, callIds);
      return native === undefined ? neutralItems(message) : replayed(listField(native).map(bodyFields), destination);
    }
    case 'tool':
      return [{ type: 'function_call_output', call_id: legalName(message.callId, MAX_ID), output: outputOf(message) }];
  }
}

function callIds(items: unknown): readonly unknown[] {
  return listField(items)
    .map(bodyFields)
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id }) => call_id);
}

/**
 * The provider's own items, in their order. If a thought may not be sent back, the items after it lose their
 * ids, since the endpoint looks for the thought that belongs to an id.
 */
function replayed(items: readonly BodyFields[], { keepsPlainReasoning }: Destination): Item[] {
  const isLost = (item: BodyFields) =>
    item.type === 'reasoning' && !keepsPlainReasoning && textField(item.encrypted_content) === undefined;
  const ownItems = items.filter((item) => !isLost(item));
  const sent = ownItems.length === items.length ? ownItems : ownItems.map(({ id, ...rest }) => rest);
  return sent.map((item) => wellFormed(item.type === 'function_call' ? replayedCall(item) : item));
}

function replayedCall(item: BodyFields): Item {
  const { name, arguments: args } = wireFunction(String(item.name), String(item.arguments ?? ''));
  return { ...item, call_id: legalName(String(item.call_id), MAX_ID), name, arguments: args };
}

function neutralItems({ content }: AssistantMessage): Item[] {
  const text = textOf(content).toWellFormed();
  const calls = toolCallsOf(content);
  const texts = text.trim() === '' && calls.length > 0 ? [] : [{ type: 'message', role: 'assistant', content: text }];
  return [
    ...texts,
    ...calls.map(({ id, name, arguments: args }) => ({
      type: 'function_call',
      call_id: legalName(id, MAX_ID),
      ...wireFunction(name, args),
    })),
  ];
}

/** Pictures and files go into the result itself here. */
function outputOf({ content, isError }: ToolMessage): unknown {
  const text = textOf(content).toWellFormed();
  const marked = isError && !/^error/i.test(text) ? `Error: ${text}` : text;
  const parts = typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text');
  if (parts.length === 0) return marked.trim() === '' ? '(no output)' : marked;
  return [...(marked.trim() === '' ? [] : [{ type: 'input_text', text: marked }]), ...parts.map(wirePart)];
}

function wirePart(part: Part): Item {
  if (part.type === 'text') return { type: 'input_text', text: part.text.toWellFormed() };
  const { mediaType, data, name } = part;
  const url = typeof data === 'string' ? `data:${mediaType};base64,${data}` : data.url;
  if (part.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' };
  if (typeof data !== 'string') return { type: 'input_file', file_url: url };
  if (mediaType.startsWith('text/')) {
    const text = Buffer.from(data, 'base64').toString('utf8').toWellFormed();
    return { type: 'input_text', text: name === undefined ? text : `${name}:\n${text}` };
  }
  if (/^(image|audio|video)\//.test(mediaType)) {
    throw new ModelError(
      'invalid_request',
      `openai: a file of type ${mediaType} cannot be sent; a picture is an image part`,
    );
  }
  return { type: 'input_file', filename: name ?? 'file', file_data: url };
}
