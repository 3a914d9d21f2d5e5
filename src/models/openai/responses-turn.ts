import { ModelError } from '../../core/values/errors.ts';
import type { ModelDelta, ModelTurn } from '../../core/values/model.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { DONE } from '../answer/answer-parser.ts';
import { type AnswerEnd, commit, responseOf } from '../answer/commit.ts';
import type { Assembler } from '../answer/exchange.ts';
import { nativeTurn, type TurnOrigin } from '../answer/native-turn.ts';
import { bodyFailure, isErrorBody } from '../failure/failure.ts';
import { type BodyFields, bodyFields, countField, listField, textField } from '../failure/fields.ts';
import { GrowingItems } from './growing-items.ts';

export interface ResponsesTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  readonly origin: TurnOrigin;
  readonly secrets?: readonly string[];
}

/** Events of a response stream, or a whole response, as a turn. */
export function assembleResponsesTurn(events: Iterable<unknown>, options: ResponsesTurnOptions): ModelTurn {
  const assembler = new ResponsesAssembler(options);
  for (const event of events) {
    assembler.take(event);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

/** One turn of the Responses protocol, streamed or whole. Its only ends are `response.completed`, `.incomplete` and `.failed`. */
export class ResponsesAssembler implements Assembler {
  state: Assembler['state'] = 'open';
  usage: CallUsage | undefined;
  readonly #options: ResponsesTurnOptions;
  readonly #items = new GrowingItems();
  #end: AnswerEnd = 'cut';
  #id: string | undefined;
  #model: string | undefined;

  constructor(options: ResponsesTurnOptions) {
    this.#options = options;
  }

  take(event: unknown, onDelta?: (delta: ModelDelta) => void): boolean {
    const fields = bodyFields(event);
    const type = textField(fields.type);
    if (type === undefined) return this.#takeWhole(event, fields);
    if (type.endsWith('.delta')) return this.#items.grow(fields, onDelta);
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.#note(bodyFields(fields.response));
        return false;
      case 'response.output_item.added':
        this.#items.open(fields, onDelta);
        return true;
      case 'response.output_item.done':
        this.#items.close(fields, onDelta);
        return true;
      case 'response.completed':
      case 'response.done':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        this.usage = usageOf(fields) ?? this.usage;
        return this.#takeEnd(bodyFields(fields.response), type.slice('response.'.length));
      case 'error':
      case 'response.error':
        throw bodyFailure(
          fields.error ? fields : { error: { ...fields, type: undefined } },
          'openai',
          this.#options.secrets,
        );
    }
    if (/^response\.(function_call_arguments|output_text|reasoning\w*_text)\.done$/.test(type))
      this.#items.replacePart(fields);
    // Searches and the like report how they get on; a ping does not belong to an item.
    return fields.output_index !== undefined;
  }

  #note(fields: BodyFields): void {
    this.usage = usageOf(fields) ?? this.usage;
    this.#id = textField(fields.id) ?? this.#id;
    this.#model = textField(fields.model) ?? this.#model;
  }

  /** If the event and the response contradict each other, the less complete one counts. */
  #takeEnd(fields: BodyFields, named: string): true {
    const own = textField(fields.status);
    const status = named === 'completed' || named === 'done' ? (own ?? 'completed') : named;
    this.#note(fields);
    this.state = 'closed';
    if (status === 'failed' || fields.error) throw bodyFailure(fields.error ?? {}, 'openai', this.#options.secrets);
    this.#items.whole(outputOf(fields));
    this.#end = status === 'completed' ? 'end' : endOf(bodyFields(fields.incomplete_details).reason, status);
    if (this.#end === 'end' && this.#items.hasIncompleteCall) this.#end = 'length';
    return true;
  }

  #takeWhole(event: unknown, fields: BodyFields): boolean {
    if (fields.object === DONE) {
      this.state = 'closed';
      return true;
    }
    if (!('output' in fields) && typeof fields.status !== 'string') refuseOther(event, fields, this.#options.secrets);
    return this.#takeEnd(fields, 'completed');
  }

  turn(): ModelTurn {
    const { names, newId, origin } = this.#options;
    const { usage } = this;
    const { content, items } = this.#items.finish(names, newId);
    const isRefusal = this.#items.refused && (this.#end === 'end' || this.#end === 'filtered');
    if (this.#end === 'end' && this.#items.size === 0) {
      throw new ModelError('empty_response', 'openai: the response has no output', { usage });
    }
    return commit('openai', isRefusal ? 'refused' : this.#end, {
      content,
      native: nativeTurn(origin, items),
      ...(usage === undefined ? {} : { usage }),
      response: responseOf(this.#id, this.#model),
    });
  }
}

/** Some servers have the text only in the field that the SDKs make of it. */
function outputOf({ output, output_text }: BodyFields): unknown {
  if (listField(output).length > 0 || textField(output_text) === undefined) return output;
  return [
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: output_text, annotations: [] }] },
  ];
}

function endOf(reason: unknown, status: unknown): AnswerEnd {
  if (status === 'cancelled') return 'failed';
  if (status !== 'incomplete') return 'cut';
  return reason === 'content_filter' ? 'filtered' : 'length';
}

/** An answer that is no response at all. */
function refuseOther(event: unknown, fields: BodyFields, secrets: readonly string[] | undefined): never {
  if (isErrorBody(fields)) throw bodyFailure(event, 'openai', secrets);
  throw new ModelError('malformed_response', 'openai: the answer is no response of the Responses API');
}

/** Input tokens include the cached ones here. */
function usageOf(response: BodyFields): CallUsage | undefined {
  if (response.usage === undefined || response.usage === null) return undefined;
  const usage = bodyFields(response.usage);
  const inputTokens = countField(usage.input_tokens ?? usage.prompt_tokens);
  const outputTokens = countField(usage.output_tokens ?? usage.completion_tokens);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const input = bodyFields(usage.input_tokens_details);
  const cached = countField(input.cached_tokens);
  const written = countField(input.cache_write_tokens);
  const thought = countField(bodyFields(usage.output_tokens_details).reasoning_tokens);
  return {
    inputTokens,
    outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
