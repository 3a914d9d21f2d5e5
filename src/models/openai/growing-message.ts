import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/values/model.ts';
import { distinctId } from '../answer/commit.ts';
import { nativeTurn, type TurnOrigin } from '../answer/native-turn.ts';
import { type BodyFields, bodyFields, textField } from '../failure/fields.ts';
import { ChatCalls, type GrowingCall } from './chat-calls.ts';
import { wireFunction } from './chat-messages.ts';
import { ContentParts, isThought } from './content-parts.ts';
import { growList } from './grow-list.ts';

/** An assistant message as it grows, or a whole one. */
export class GrowingMessage {
  readonly #calls = new ChatCalls();
  readonly #extra: { [name: string]: unknown } = {};
  /** Set where content comes in lists. */
  #parts: ContentParts | undefined;
  #text = '';
  #reasoning = '';
  #refusal = '';

  /** True if the message is a refusal without other text. */
  get refused(): boolean {
    return this.#refusal !== '' && this.#text === '';
  }

  /** Takes a choice; true where it moved the message on. */
  take(choice: BodyFields, onDelta: ((delta: ModelDelta) => void) | undefined): boolean {
    const message = messageOf(choice);
    const { content } = message;
    const isText = typeof content === 'string';
    const text = isText ? content : textOfContent(content, 'text');
    const thought =
      textField(message.reasoning_content) ??
      textField(message.reasoning) ??
      (isText ? '' : textOfContent(content, 'reasoning'));
    const refusal = textField(message.refusal) ?? '';
    if (!isText && content !== undefined && content !== null && this.#parts === undefined) {
      this.#parts = new ContentParts();
      this.#parts.take(this.#text);
    }
    this.#parts?.take(content);
    let moved = text !== '' || thought !== '' || refusal !== '';
    if (moved) {
      this.#text += text;
      this.#reasoning += thought;
      this.#refusal += refusal;
      if (thought !== '') onDelta?.({ type: 'reasoning', text: thought });
      if (text !== '') onDelta?.({ type: 'text', text });
    }
    for (const call of fragmentsOf(message, !choice.delta)) moved = this.#calls.take(call, onDelta) || moved;
    return keepExtra(this.#extra, message) || moved;
  }

  finish(
    names: ReadonlyMap<string, string>,
    newId: () => string,
    origin: TurnOrigin,
  ): Pick<ModelTurn, 'content' | 'native'> {
    const taken = new Set<string>();
    const whole = this.#calls.calls.map((call) => ({ ...call, id: distinctId(call.id, taken, newId) }));
    const content: AssistantPart[] = [];
    if (this.#reasoning !== '') content.push({ type: 'reasoning', text: this.#reasoning });
    if (this.#text !== '') content.push({ type: 'text', text: this.#text });
    for (const call of whole) content.push(partOf(call, names));
    return { content, native: nativeTurn(origin, wireMessage(this.#parts?.list ?? this.#text, whole, this.#extra)) };
  }
}

type WholeCall = GrowingCall & { id: string };

/** A piece or the whole; completions without chat have only a text. */
function messageOf(choice: BodyFields): BodyFields {
  const given = choice.delta ?? choice.message ?? choice.text;
  return typeof given === 'string' ? { content: given } : bodyFields(given);
}

/** Content that is no text is a list of parts, among which may be thoughts. */
function textOfContent(content: unknown, kind: 'text' | 'reasoning'): string {
  if (typeof content === 'string') return kind === 'text' ? content : '';
  if (content === undefined || content === null) return '';
  let all = '';
  for (const part of Array.isArray(content) ? content : [content]) {
    const { text, thinking } = bodyFields(part);
    const isOne = isThought(bodyFields(part));
    if (isOne !== (kind === 'reasoning')) continue;
    if (isOne) all += typeof thinking === 'string' ? thinking : textOfContent(thinking ?? text, 'text');
    else if (typeof part === 'string') all += part;
    else if (typeof text === 'string') all += text;
  }
  return all;
}

/** In a whole message each entry is a separate call; in a delta entries continue open calls. */
function fragmentsOf({ tool_calls, function_call }: BodyFields, isWhole: boolean): readonly unknown[] {
  // One call, where it is the only one, comes without its list from some servers.
  const list = Array.isArray(tool_calls)
    ? tool_calls
    : tool_calls === undefined || tool_calls === null
      ? undefined
      : [tool_calls];
  if (list !== undefined) return isWhole ? list.map((call, index) => ({ ...bodyFields(call), index })) : list;
  return function_call === undefined || function_call === null ? NO_CALLS : [{ index: 0, function: function_call }];
}

const NO_CALLS: readonly unknown[] = Object.freeze([]);

/** Fields that are read above, or that requests may not contain. */
const NOT_REPLAYED = new Set([
  'role',
  'content',
  'tool_calls',
  'function_call',
  'refusal',
  'audio',
  'annotations',
  '__proto__',
]);

/** Texts that are streamed in pieces; another text is a value that comes again. */
const STREAMED = /reason|think|thought|signature/;

/** Unknown fields go back as they came: thoughts and lists that were streamed in pieces are put together. */
function keepExtra(extra: { [name: string]: unknown }, message: BodyFields): boolean {
  let moved = false;
  for (const name of Object.keys(message)) {
    const value = message[name];
    if (value === null || value === undefined || value === '' || NOT_REPLAYED.has(name)) continue;
    const before = extra[name];
    moved = true;
    if (typeof value === 'string' && typeof before === 'string' && STREAMED.test(name)) extra[name] = before + value;
    else if (Array.isArray(value) && Array.isArray(before)) growList(before, value);
    else extra[name] = Array.isArray(value) ? [...value] : value;
  }
  return moved;
}

function partOf(call: WholeCall, names: ReadonlyMap<string, string>): AssistantPart {
  return { type: 'tool_call', id: call.id, name: names.get(call.name) ?? call.name, arguments: call.arguments };
}

/** The assistant message as the server wants it back. */
function wireMessage(
  content: string | readonly BodyFields[],
  calls: readonly WholeCall[],
  extra: { [name: string]: unknown },
): BodyFields {
  return {
    ...extra,
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            ...call.extra,
            id: call.id,
            type: 'function',
            function: wireFunction(call.name, call.arguments),
          })),
        }),
  };
}
