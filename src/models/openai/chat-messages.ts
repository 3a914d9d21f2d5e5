import { ModelError } from '../../core/values/errors.ts';
import {
  type AssistantMessage,
  type Message,
  type Part,
  type ToolMessage,
  textOf,
  toolCallsOf,
} from '../../core/values/message.ts';
import { nativeFor, type TurnOrigin, wellFormed } from '../answer/native-turn.ts';
import { bodyFields, listField } from '../failure/fields.ts';
import { RULES } from '../request/check-request.ts';
import { legalName } from '../request/tool-name.ts';
import { type WireLine, wireLines } from '../wire-lines.ts';

/** Longest name of a tool. */
export const OPENAI_MAX_NAME = RULES.chat.maxName;

export type ChatWireMessage = { readonly [field: string]: unknown };

/**
 * Converts transcripts to what Chat Completions takes. Pictures of tool results follow them in a user message: results are text
 * there.
 */
export function chatTranscripts(origin: TurnOrigin): (messages: readonly Message[]) => ChatWireMessage[] {
  return wireLines(() => new ChatLine(origin));
}

class ChatLine implements WireLine<ChatWireMessage> {
  readonly #origin: TurnOrigin;
  readonly #wire: ChatWireMessage[] = [];
  /** Of the results at the end. */
  #attached: unknown[] = [];

  constructor(origin: TurnOrigin) {
    this.#origin = origin;
  }

  add(message: Message): void {
    if (message.role !== 'tool' && this.#attached.length > 0) {
      this.#wire.push(attachments(this.#attached));
      this.#attached = [];
    }
    this.#wire.push(convert(message, this.#origin));
    if (message.role === 'tool' && typeof message.content !== 'string') {
      this.#attached.push(...message.content.filter((part) => part.type !== 'text').map(wirePart));
    }
  }

  list(): ChatWireMessage[] {
    return this.#attached.length === 0 ? this.#wire.slice() : [...this.#wire, attachments(this.#attached)];
  }
}

function attachments(parts: readonly unknown[]): ChatWireMessage {
  return { role: 'user', content: [{ type: 'text', text: 'Attachments of the tool results above:' }, ...parts] };
}

function convert(message: Message, origin: TurnOrigin): ChatWireMessage {
  switch (message.role) {
    case 'user': {
      const { content } = message;
      return { role: 'user', content: typeof content === 'string' ? content.toWellFormed() : content.map(wirePart) };
    }
    case 'assistant':
      return nativeMessage(message, origin) ?? neutralMessage(message);
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: resultText(message) };
  }
}

function resultText({ content, isError }: ToolMessage): string {
  const text = textOf(content).toWellFormed();
  if (text.trim() === '') return isError ? 'Error' : '(no output)';
  // There is no field for it in this protocol.
  return isError && !/^error/i.test(text) ? `Error: ${text}` : text;
}

/** The server's own turn, where it came from here. */
function nativeMessage(message: AssistantMessage, origin: TurnOrigin): ChatWireMessage | undefined {
  const turn = nativeFor(message, 'openai', origin, (own) =>
    listField(bodyFields(own).tool_calls).map((call) => bodyFields(call).id),
  );
  return turn === undefined ? undefined : wellFormed(bodyFields(turn));
}

function neutralMessage({ content }: AssistantMessage): ChatWireMessage {
  const text = textOf(content).toWellFormed();
  const calls = toolCallsOf(content);
  if (calls.length === 0) return { role: 'assistant', content: text };
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: wireFunction(name, args),
    })),
  };
}

/** Name and arguments in a form that requests may have: servers parse the arguments of earlier calls, and a blank text is no JSON. */
export function wireFunction(name: string, args: string): { name: string; arguments: string } {
  return { name: legalName(name, OPENAI_MAX_NAME), arguments: args.trim() === '' ? '{}' : args.toWellFormed() };
}

function wirePart(part: Part): ChatWireMessage {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() };
  const { mediaType, data, name } = part;
  const url = typeof data === 'string' ? `data:${mediaType};base64,${data}` : data.url;
  if (part.type === 'image') return { type: 'image_url', image_url: { url } };
  if (typeof data === 'string' && mediaType.startsWith('text/')) {
    const text = Buffer.from(data, 'base64').toString('utf8').toWellFormed();
    return { type: 'text', text: name === undefined ? text : `${name}:\n${text}` };
  }
  if (/^(image|audio|video)\//.test(mediaType)) {
    throw new ModelError(
      'invalid_request',
      `openai: a file of type ${mediaType} cannot be sent; a picture is an image part`,
    );
  }
  return { type: 'file', file: { filename: name ?? 'file', file_data: url } };
}
