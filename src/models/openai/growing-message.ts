import type { AssistantPart } from '../../core/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/model.ts';
import { distinctId } from '../commit.ts';
import { type Fields, fieldsOf, listField, textField } from '../fields.ts';
import { nativeTurn, type Origin } from '../native-turn.ts';
import { chatCalls, type GrowingCall } from './chat-calls.ts';
import { wireFunction } from './chat-messages.ts';

/** An assistant message as it grows, or a whole one. */
export interface GrowingMessage {
  /** True where the message refuses and says nothing else. */
  readonly refused: boolean;
  /** Takes a choice; true where it moved the message on. */
  take(choice: Fields, onDelta: ((delta: ModelDelta) => void) | undefined): boolean;
  finish(
    names: ReadonlyMap<string, string>,
    newId: () => string,
    origin: Origin,
  ): Pick<ModelTurn, 'content' | 'native'>;
}

export function growingMessage(): GrowingMessage {
  const calls = chatCalls();
  const extra: { [name: string]: unknown } = {};
  let text = '';
  let reasoning = '';
  let refusal = '';
  return {
    get refused() {
      return refusal !== '' && text === '';
    },
    take(choice, onDelta) {
      const message = fieldsOf(choice.delta ?? choice.message);
      const said = textOfContent(message.content);
      const thought = textField(message.reasoning_content) ?? textField(message.reasoning) ?? said.reasoning;
      const declined = textField(message.refusal) ?? '';
      text += said.text;
      reasoning += thought;
      refusal += declined;
      if (thought !== '') onDelta?.({ type: 'reasoning', text: thought });
      if (said.text !== '') onDelta?.({ type: 'text', text: said.text });
      let moved = said.text !== '' || thought !== '' || declined !== '';
      for (const call of fragmentsOf(message, !choice.delta)) moved = calls.take(call, onDelta) || moved;
      return keepExtra(extra, message) || moved;
    },
    finish(names, newId, origin) {
      const taken = new Set<string>();
      const whole = calls.calls.map((call) => ({ ...call, id: distinctId(call.id, taken, newId) }));
      const content: AssistantPart[] = [];
      if (reasoning !== '') content.push({ type: 'reasoning', text: reasoning });
      if (text !== '') content.push({ type: 'text', text });
      for (const call of whole) content.push(partOf(call, names));
      return { content, native: nativeTurn(origin, wireMessage(text, whole, extra)) };
    },
  };
}

type WholeCall = GrowingCall & { id: string };

/** Content is text, or a list of parts, among which may be thoughts. */
function textOfContent(content: unknown): { text: string; reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' };
  let text = '';
  let reasoning = '';
  for (const part of listField(content)) {
    const { type, text: said, thinking } = fieldsOf(part);
    if (type === 'thinking' || type === 'reasoning') {
      reasoning += typeof thinking === 'string' ? thinking : textOfContent(thinking ?? said).text;
    } else if (typeof part === 'string') text += part;
    else if (typeof said === 'string') text += said;
  }
  return { text, reasoning };
}

/** In a whole message each entry is a call of its own; in a delta entries go on with calls that have begun. */
function fragmentsOf({ tool_calls, function_call }: Fields, isWhole: boolean): readonly unknown[] {
  if (Array.isArray(tool_calls)) {
    return isWhole ? tool_calls.map((call, index) => ({ ...fieldsOf(call), index })) : tool_calls;
  }
  return function_call === undefined || function_call === null ? [] : [{ index: 0, function: function_call }];
}

/** Fields that are read above, or that requests may not hold. */
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
function keepExtra(extra: { [name: string]: unknown }, message: Fields): boolean {
  let moved = false;
  for (const [name, value] of Object.entries(message)) {
    if (NOT_REPLAYED.has(name) || value === null || value === undefined || value === '') continue;
    const before = extra[name];
    moved = true;
    if (typeof value === 'string' && typeof before === 'string' && STREAMED.test(name)) extra[name] = before + value;
    else if (Array.isArray(value) && Array.isArray(before)) before.push(...value);
    else extra[name] = Array.isArray(value) ? [...value] : value;
  }
  return moved;
}

function partOf(call: WholeCall, names: ReadonlyMap<string, string>): AssistantPart {
  return { type: 'tool_call', id: call.id, name: names.get(call.name) ?? call.name, arguments: call.arguments };
}

/** The assistant message as the server wants it back. */
function wireMessage(text: string, calls: readonly WholeCall[], extra: { [name: string]: unknown }): Fields {
  return {
    ...extra,
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
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
