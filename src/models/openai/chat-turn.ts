import { ModelError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { AssistantPart } from '../../core/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/model.ts';
import type { CallUsage } from '../../core/usage.ts';
import { commit, distinctId, type Ending } from '../commit.ts';
import type { Assembler } from '../exchange.ts';
import { bodyFailure } from '../failure.ts';
import { countField, type Fields, fieldsOf, listField, textField } from '../fields.ts';
import { DONE } from '../repair.ts';
import { chatCalls, type GrowingCall } from './chat-calls.ts';
import { wireFunction } from './chat-messages.ts';

export interface ChatTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  /** False where the whole answer is one object: it cannot have been cut. */
  readonly stream: boolean;
  readonly secrets?: readonly string[];
}

/** Chunks of a chat completion, or a whole one, as a turn. */
export function assembleChatTurn(chunks: Iterable<unknown>, options: ChatTurnOptions): ModelTurn {
  const assembler = chatAssembler(options);
  for (const chunk of chunks) {
    assembler.take(chunk);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

const ENDINGS: { readonly [reason: string]: Ending } = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'filtered',
  safety: 'filtered',
  recitation: 'filtered',
  prohibited_content: 'filtered',
  blocklist: 'filtered',
  spii: 'filtered',
  refusal: 'refused',
  error: 'failed',
  insufficient_system_resource: 'overloaded',
  malformed_function_call: 'malformed',
};

/** One turn of the Chat Completions protocol, streamed (`choice.delta`) or whole (`choice.message`). */
export function chatAssembler(options: ChatTurnOptions): Assembler {
  const calls = chatCalls();
  const extra: { [name: string]: unknown } = {};
  let state: Assembler['state'] = 'open';
  let ending: Ending = options.stream ? 'cut' : 'end';
  let choices = 0;
  let text = '';
  let reasoning = '';
  let refusal = '';
  let usage: CallUsage | undefined;
  let response: { id?: string; model?: string } = {};

  const takeMessage = (message: Fields, onDelta: ((delta: ModelDelta) => void) | undefined): boolean => {
    const said = textOfContent(message.content);
    const thought = textField(message.reasoning_content) ?? textField(message.reasoning) ?? said.reasoning;
    text += said.text;
    reasoning += thought;
    refusal += textField(message.refusal) ?? '';
    if (thought !== '') onDelta?.({ type: 'reasoning', text: thought });
    if (said.text !== '') onDelta?.({ type: 'text', text: said.text });
    let moved = said.text !== '' || thought !== '' || typeof message.refusal === 'string';
    for (const call of fragmentsOf(message)) moved = calls.take(call, onDelta) || moved;
    return keepExtra(extra, message) || moved;
  };
  return {
    get state() {
      return state;
    },
    take(chunk, onDelta) {
      const fields = fieldsOf(chunk);
      if (fields.object === DONE) {
        if (state === 'open' && choices > 0) ending = 'end';
        state = 'closed';
        return true;
      }
      if (!('choices' in fields)) refuseOther(chunk, fields, options.secrets);
      if (fields.error) throw bodyFailure(fields.error, 'openai', options.secrets);
      response = { ...response, ...identityOf(fields) };
      usage = usageOf(fields) ?? usage;
      let moved = false;
      for (const choice of listField(fields.choices).map(fieldsOf)) {
        if (choice.index !== undefined && choice.index !== 0 && choice.index !== null) continue;
        choices++;
        usage = usageOf(choice) ?? usage;
        if (choice.error) throw bodyFailure(choice.error, 'openai', options.secrets);
        moved = takeMessage(fieldsOf(choice.delta ?? choice.message), onDelta) || moved;
        const reason = textField(choice.finish_reason)?.toLowerCase() ?? (choice.message ? 'stop' : undefined);
        if (reason === undefined) continue;
        moved = true;
        if (state === 'open') state = 'complete';
        // What cuts an answer is not taken back by a later "stop".
        if (ending === 'cut' || ending === 'end') ending = endingOf(reason);
      }
      return moved;
    },
    turn() {
      if (choices === 0 && (!options.stream || state === 'closed' || usage !== undefined)) {
        throw new ModelError('empty_response', 'openai: the answer has no choices');
      }
      const taken = new Set<string>();
      const whole = calls.calls.map((call) => ({ ...call, id: distinctId(call.id, taken, options.newId) }));
      const content: AssistantPart[] = [];
      if (reasoning !== '') content.push({ type: 'reasoning', text: reasoning });
      if (text !== '') content.push({ type: 'text', text });
      for (const call of whole) content.push(partOf(call, options.names));
      return commit('openai', refusal !== '' && text === '' && ending !== 'cut' ? 'refused' : ending, {
        content,
        ...(usage === undefined ? {} : { usage }),
        native: nativeOf(text, whole, extra),
        response,
      });
    },
  };
}

function endingOf(reason: string): Ending {
  // Gemini: `function_call_filter: MALFORMED_FUNCTION_CALL`.
  if (reason.includes('malformed_function_call')) return 'malformed';
  return ENDINGS[reason] ?? 'end';
}

/** An answer that is no chat completion at all. */
function refuseOther(chunk: unknown, fields: Fields, secrets: readonly string[] | undefined): void {
  const looksLikeError = fields.error !== undefined || fields.object === 'error' || fields.type === 'error';
  if (looksLikeError && fields.error !== null) throw bodyFailure(chunk, 'openai', secrets);
  if (typeof chunk === 'string' || Object.keys(fields).length === 0) {
    throw new ModelError('malformed_response', 'openai: the answer is no chat completion');
  }
}

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

function fragmentsOf({ tool_calls, function_call }: Fields): readonly unknown[] {
  if (Array.isArray(tool_calls)) return tool_calls;
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

/** Unknown fields go back as they came: texts and lists that were streamed in pieces are put together. */
function keepExtra(extra: { [name: string]: unknown }, message: Fields): boolean {
  let moved = false;
  for (const [name, value] of Object.entries(message)) {
    if (NOT_REPLAYED.has(name) || value === null || value === undefined || value === '') continue;
    const before = extra[name];
    moved = true;
    if (typeof value === 'string' && typeof before === 'string') extra[name] = before + value;
    else if (Array.isArray(value) && Array.isArray(before)) before.push(...value);
    else extra[name] = Array.isArray(value) ? [...value] : value;
  }
  return moved;
}

function identityOf({ id, model }: Fields): { id?: string; model?: string } {
  const [known, name] = [textField(id), textField(model)];
  return { ...(known === undefined ? {} : { id: known }), ...(name === undefined ? {} : { model: name }) };
}

/** Prompt tokens include the cached ones here. Running totals: the last one counts. */
function usageOf(holder: Fields): CallUsage | undefined {
  const usage = fieldsOf(holder.usage ?? fieldsOf(holder.x_groq).usage);
  const inputTokens = countField(usage.prompt_tokens);
  const outputTokens = countField(usage.completion_tokens);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const input = fieldsOf(usage.prompt_tokens_details);
  const cached = countField(input.cached_tokens) ?? countField(usage.prompt_cache_hit_tokens);
  const written = countField(input.cache_write_tokens);
  const thought = countField(fieldsOf(usage.completion_tokens_details).reasoning_tokens);
  return {
    inputTokens,
    outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}

type WholeCall = GrowingCall & { id: string };

function partOf(call: WholeCall, names: ReadonlyMap<string, string>): AssistantPart {
  return { type: 'tool_call', id: call.id, name: names.get(call.name) ?? call.name, arguments: call.arguments };
}

/** The assistant message as the server wants it back. */
function nativeOf(text: string, calls: readonly WholeCall[], extra: { [name: string]: unknown }): Json {
  const message = {
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
  // Everything in it was parsed from JSON.
  return message as Json;
}
