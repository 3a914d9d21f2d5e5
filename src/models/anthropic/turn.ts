import { ModelError } from '../../core/values/errors.ts';
import type { ModelDelta, ModelTurn } from '../../core/values/model.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { DONE } from '../answer/answer-parser.ts';
import { type AnswerEnd, commit, responseOf } from '../answer/commit.ts';
import type { Assembler } from '../answer/exchange.ts';
import type { TurnOrigin } from '../answer/native-turn.ts';
import { bodyFailure, isErrorBody } from '../failure/failure.ts';
import { type BodyFields, bodyFields, countField, listField, textField } from '../failure/fields.ts';
import { GrowingBlocks } from './growing-blocks.ts';

export interface AnthropicTurnOptions {
  /** False where the whole answer is one object. */
  readonly inPieces: boolean;
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  readonly origin: TurnOrigin;
  readonly secrets?: readonly string[];
}

/** Events of a message stream, or a whole message, as a turn. */
export function assembleAnthropicTurn(events: Iterable<unknown>, options: AnthropicTurnOptions): ModelTurn {
  const assembler = new AnthropicAssembler(options);
  for (const event of events) {
    assembler.take(event);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

/** The API's own reasons, and those of gateways for other models. */
const ENDINGS: { readonly [reason: string]: AnswerEnd } = {
  max_tokens: 'length',
  max_output_tokens: 'length',
  length: 'length',
  model_context_window_exceeded: 'full',
  pause_turn: 'paused',
  refusal: 'refused',
  content_filter: 'filtered',
  content_filtered: 'filtered',
  safety: 'filtered',
  guardrail_intervened: 'filtered',
  error: 'failed',
  abort: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
};

/** One turn of the Messages protocol, streamed or whole. */
export class AnthropicAssembler implements Assembler {
  state: Assembler['state'] = 'open';
  readonly #options: AnthropicTurnOptions;
  readonly #blocks = new GrowingBlocks();
  #end: AnswerEnd = 'cut';
  #usage: { readonly [name: string]: unknown } = {};
  #id: string | undefined;
  #model: string | undefined;

  constructor(options: AnthropicTurnOptions) {
    this.#options = options;
  }

  get usage(): CallUsage | undefined {
    return usageOf(this.#usage);
  }

  take(event: unknown, onDelta?: (delta: ModelDelta) => void): boolean {
    const fields = bodyFields(event);
    switch (fields.type) {
      case 'content_block_delta':
        return this.#blocks.grow(fields.index, bodyFields(fields.delta), onDelta);
      case 'content_block_start':
        return this.#blocks.open(fields.index, bodyFields(fields.content_block), onDelta);
      case 'message_start':
        return this.#begin(bodyFields(fields.message));
      case 'message_delta':
        return this.#takeEnd(fields);
      case 'message_stop':
        this.#count(fields.usage);
        this.state = 'closed';
        if (this.#end === 'cut' && this.#blocks.size > 0) this.#end = 'end';
        return true;
      case 'message':
        for (const part of eventsOf(fields)) this.take(part, onDelta);
        return true;
      case 'error':
        throw bodyFailure(event, 'anthropic', this.#options.secrets);
    }
    if (fields.object === DONE) {
      // Gateways end their streams so; it completes nothing.
      this.state = 'closed';
      return true;
    }
    if (fields.type === undefined && isMessage(fields)) return this.take({ ...fields, type: 'message' }, onDelta);
    if (fields.type === undefined || !this.#options.inPieces) refuseOther(event, fields, this.#options.secrets);
    return false;
  }

  #begin(message: BodyFields): boolean {
    this.#count(message.usage);
    this.#id = textField(message.id) ?? this.#id;
    this.#model = textField(message.model) ?? this.#model;
    return true;
  }

  #takeEnd({ delta, usage }: BodyFields): boolean {
    this.#count(usage);
    const reason = textField(bodyFields(delta).stop_reason)?.toLowerCase();
    if (reason !== undefined) this.#end = ENDINGS[reason] ?? 'end';
    if (reason !== undefined && this.state === 'open') this.state = 'complete';
    return true;
  }

  /** The last count is valid; a later null or zero does not reset it. */
  #count(usage: unknown): void {
    const counts = { ...this.#usage };
    for (const [name, count] of Object.entries(bodyFields(usage))) {
      if (count !== null && count !== undefined && !(count === 0 && counts[name])) counts[name] = count;
    }
    this.#usage = counts;
  }

  turn(): ModelTurn {
    const { names, newId, origin } = this.#options;
    const { usage } = this;
    const turn = commit('anthropic', this.#end, {
      ...this.#blocks.finish(names, newId, origin),
      ...(usage === undefined ? {} : { usage }),
      response: responseOf(this.#id, this.#model),
    });
    if (!this.#blocks.hasLost) return turn;
    const message = 'anthropic: a part of the answer is missing: a call came without its beginning';
    throw new ModelError('malformed_response', message, { retryable: true, usage });
  }
}

/** A whole message as the events that a stream would have sent. */
function eventsOf(message: BodyFields): BodyFields[] {
  const stop_reason = textField(message.stop_reason) ?? 'end_turn';
  return [
    { type: 'message_start', message },
    ...contentOf(message).map((content_block, index) => ({
      type: 'content_block_start',
      index,
      content_block,
    })),
    { type: 'message_delta', delta: { stop_reason } },
    { type: 'message_stop' },
  ];
}

/** Some servers send a text instead of a list of blocks. */
function contentOf({ content }: BodyFields): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listField(content);
}

/** A whole message without a type. */
function isMessage(fields: BodyFields): boolean {
  return 'content' in fields && ('stop_reason' in fields || fields.role === 'assistant');
}

function refuseOther(event: unknown, fields: BodyFields, secrets: readonly string[] | undefined): never {
  if (isErrorBody(fields)) throw bodyFailure(event, 'anthropic', secrets);
  throw new ModelError('malformed_response', 'anthropic: the answer is no message');
}

/** Cached and cache-writing tokens are not part of `input_tokens` here; the whole prompt is their sum. */
function usageOf(usage: BodyFields): CallUsage | undefined {
  const input = countField(usage.input_tokens);
  const outputTokens = countField(usage.output_tokens);
  if (input === undefined || outputTokens === undefined) return undefined;
  const read = countField(usage.cache_read_input_tokens);
  const written = countField(usage.cache_creation_input_tokens);
  const thought = countField(bodyFields(usage.output_tokens_details).thinking_tokens);
  return {
    inputTokens: input + (read ?? 0) + (written ?? 0),
    outputTokens,
    ...(read === undefined ? {} : { cachedInputTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
