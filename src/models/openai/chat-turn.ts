import { ModelError } from '../../core/values/errors.ts';
import type { ModelDelta, ModelTurn } from '../../core/values/model.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { DONE } from '../answer/answer-parser.ts';
import { type AnswerEnd, commit, responseOf } from '../answer/commit.ts';
import type { Assembler } from '../answer/exchange.ts';
import type { TurnOrigin } from '../answer/native-turn.ts';
import { bodyFailure, isErrorBody } from '../failure/failure.ts';
import { type BodyFields, bodyFields, countField, textField } from '../failure/fields.ts';
import { GrowingMessage } from './growing-message.ts';

export interface ChatTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  /** False if the whole answer is one object, which cannot be truncated. */
  readonly stream: boolean;
  readonly origin: TurnOrigin;
  readonly secrets?: readonly string[];
}

/** Chunks of a chat completion, or a whole one, as a turn. */
export function assembleChatTurn(chunks: Iterable<unknown>, options: ChatTurnOptions): ModelTurn {
  const assembler = new ChatAssembler(options);
  for (const chunk of chunks) {
    assembler.take(chunk);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

const ENDINGS: { readonly [reason: string]: AnswerEnd } = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'filtered',
  safety: 'filtered',
  recitation: 'filtered',
  prohibited_content: 'filtered',
  blocklist: 'filtered',
  spii: 'filtered',
  image_safety: 'filtered',
  language: 'filtered',
  refusal: 'refused',
  error: 'failed',
  abort: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
  canceled: 'failed',
  timeout: 'failed',
  insufficient_system_resource: 'overloaded',
  malformed_function_call: 'malformed',
  unexpected_tool_call: 'malformed',
};

/** One turn of the Chat Completions protocol, streamed (`choice.delta`) or whole (`choice.message`). */
export class ChatAssembler implements Assembler {
  state: Assembler['state'] = 'open';
  usage: CallUsage | undefined;
  readonly #options: ChatTurnOptions;
  readonly #message = new GrowingMessage();
  #end: AnswerEnd;
  #choices = 0;
  #choice: unknown;
  #isForeign = false;
  #id: string | undefined;
  #model: string | undefined;

  constructor(options: ChatTurnOptions) {
    this.#options = options;
    this.#end = options.stream ? 'cut' : 'end';
  }

  take(chunk: unknown, onDelta?: (delta: ModelDelta) => void): boolean {
    const fields = bodyFields(chunk);
    if (fields.object === DONE) {
      if (this.state === 'open' && this.#choices > 0) this.#end = 'end';
      this.state = 'closed';
      return true;
    }
    const { choices } = fields;
    if (choices === undefined && !('choices' in fields)) refuseOther(chunk, fields, this.#options);
    // Chunks have an `object`; a `type` is how other protocols name their events.
    this.#isForeign ||= textField(fields.type) !== undefined;
    if (fields.error) throw bodyFailure(fields.error, 'openai', this.#options.secrets);
    this.#id = textField(fields.id) ?? this.#id;
    this.#model = textField(fields.model) ?? this.#model;
    this.usage = chatUsage(fields, this.usage);
    let moved = false;
    for (const one of Array.isArray(choices) ? choices : [choices]) {
      if (one === null || typeof one !== 'object') continue;
      const choice = bodyFields(one);
      // The first that comes is ours, whatever it is counted from.
      this.#choice ??= choice.index ?? undefined;
      const isOurs = choice.index === undefined || choice.index === null || choice.index === this.#choice;
      if (isOurs && this.#takeChoice(choice, onDelta)) moved = true;
    }
    return moved;
  }

  #takeChoice(choice: BodyFields, onDelta: ((delta: ModelDelta) => void) | undefined): boolean {
    this.#choices++;
    this.usage = chatUsage(choice, this.usage);
    if (choice.error) throw bodyFailure(choice.error, 'openai', this.#options.secrets);
    const moved = this.#message.take(choice, onDelta);
    const reason = textField(choice.finish_reason)?.toLowerCase() ?? (choice.message ? 'stop' : undefined);
    if (reason === undefined) return moved;
    const isNew = this.state === 'open';
    if (isNew) this.state = 'complete';
    // A later "stop" does not override a truncation.
    if (this.#end === 'cut' || this.#end === 'end') this.#end = endOf(reason);
    return moved || isNew;
  }

  turn(): ModelTurn {
    const { names, newId, origin, stream } = this.#options;
    if (this.#choices === 0 && this.#isForeign) throw notChat();
    if (this.#choices === 0 && (!stream || this.state === 'closed' || this.usage !== undefined)) {
      throw new ModelError('empty_response', 'openai: the answer has no choices');
    }
    const isRefusal = this.#message.refused && (this.#end === 'end' || this.#end === 'filtered');
    return commit('openai', isRefusal ? 'refused' : this.#end, {
      ...this.#message.finish(names, newId, origin),
      ...(this.usage === undefined ? {} : { usage: this.usage }),
      response: responseOf(this.#id, this.#model),
    });
  }
}

function endOf(reason: string): AnswerEnd {
  // Gemini: `function_call_filter: MALFORMED_FUNCTION_CALL`.
  if (reason.includes('malformed_function_call')) return 'malformed';
  return ENDINGS[reason] ?? 'end';
}

/** An answer that is no chat completion at all. */
function refuseOther(chunk: unknown, fields: BodyFields, { stream, secrets }: ChatTurnOptions): void {
  if (isErrorBody(fields)) throw bodyFailure(chunk, 'openai', secrets);
  if (!stream || typeof chunk === 'string' || Object.keys(fields).length === 0) {
    throw notChat();
  }
}

function notChat(): ModelError {
  return new ModelError('malformed_response', 'openai: the answer is no chat completion');
}

/**
 * The usage that a chunk or a choice reports, after earlier reports. They are running totals: the last one counts, but a later zero does
 * not reset it. Prompt tokens include the cached ones; if there are more cached ones than that, they are counted separately.
 */
function chatUsage(holder: BodyFields, before: CallUsage | undefined): CallUsage | undefined {
  const given = holder.usage ?? (holder.x_groq === undefined ? undefined : bodyFields(holder.x_groq).usage);
  if (given === undefined || given === null) return before;
  const usage = bodyFields(given);
  // Gateways to other APIs keep the names of theirs.
  const prompt = countField(usage.prompt_tokens ?? usage.input_tokens);
  const total = countField(usage.total_tokens);
  const remaining = prompt === undefined || total === undefined || total < prompt ? undefined : total - prompt;
  const completion = countField(usage.completion_tokens ?? usage.output_tokens) ?? remaining;
  if (prompt === undefined || completion === undefined) return before;
  const input = bodyFields(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const cached =
    countField(input.cached_tokens) ??
    countField(usage.prompt_cache_hit_tokens) ??
    countField(usage.cache_read_input_tokens);
  const written = countField(input.cache_write_tokens) ?? countField(usage.cache_creation_input_tokens);
  const output = bodyFields(usage.completion_tokens_details ?? usage.output_tokens_details);
  const thought = countField(output.reasoning_tokens);
  const beside = (cached ?? 0) + (written ?? 0);
  return {
    inputTokens: (beside > prompt && prompt > 0 ? prompt + beside : prompt) || (before?.inputTokens ?? 0),
    outputTokens: completion || (before?.outputTokens ?? 0),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
