import { ModelError } from '../../core/errors.ts';
import type { ModelDelta, ModelTurn } from '../../core/model.ts';
import type { CallUsage } from '../../core/usage.ts';
import { commit, type Ending } from '../commit.ts';
import type { Assembler } from '../exchange.ts';
import { bodyFailure } from '../failure.ts';
import { countField, type Fields, fieldsOf, listField, textField } from '../fields.ts';
import type { Origin } from '../native-turn.ts';
import { DONE } from '../repair.ts';
import { growingMessage } from './growing-message.ts';

export interface ChatTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  /** False where the whole answer is one object: it cannot have been cut. */
  readonly stream: boolean;
  readonly origin: Origin;
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
  const message = growingMessage();
  let state: Assembler['state'] = 'open';
  let ending: Ending = options.stream ? 'cut' : 'end';
  let choices = 0;
  let isForeign = false;
  let usage: CallUsage | undefined;
  let response: { id?: string; model?: string } = {};

  const takeChoice = (choice: Fields, onDelta: ((delta: ModelDelta) => void) | undefined): boolean => {
    choices++;
    usage = usageOf(choice) ?? usage;
    if (choice.error) throw bodyFailure(choice.error, 'openai', options.secrets);
    const moved = message.take(choice, onDelta);
    const reason = textField(choice.finish_reason)?.toLowerCase() ?? (choice.message ? 'stop' : undefined);
    if (reason === undefined) return moved;
    if (state === 'open') state = 'complete';
    // What cuts an answer is not taken back by a later "stop".
    if (ending === 'cut' || ending === 'end') ending = endingOf(reason);
    return true;
  };
  return {
    get state() {
      return state;
    },
    get usage() {
      return usage;
    },
    take(chunk, onDelta) {
      const fields = fieldsOf(chunk);
      if (fields.object === DONE) {
        if (state === 'open' && choices > 0) ending = 'end';
        state = 'closed';
        return true;
      }
      if (!('choices' in fields)) refuseOther(chunk, fields, options);
      // Chunks have an `object`; a `type` is how other protocols name their events.
      isForeign ||= textField(fields.type) !== undefined;
      if (fields.error) throw bodyFailure(fields.error, 'openai', options.secrets);
      response = { ...response, ...identityOf(fields) };
      usage = usageOf(fields) ?? usage;
      let moved = false;
      for (const choice of listField(fields.choices).map(fieldsOf)) {
        const isFirst = choice.index === undefined || choice.index === null || choice.index === 0;
        if (isFirst) moved = takeChoice(choice, onDelta) || moved;
      }
      return moved;
    },
    turn() {
      if (choices === 0 && isForeign) throw notChat();
      if (choices === 0 && (!options.stream || state === 'closed' || usage !== undefined)) {
        throw new ModelError('empty_response', 'openai: the answer has no choices');
      }
      const isRefusal = message.refused && (ending === 'end' || ending === 'filtered');
      return commit('openai', isRefusal ? 'refused' : ending, {
        ...message.finish(options.names, options.newId, options.origin),
        ...(usage === undefined ? {} : { usage }),
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
function refuseOther(chunk: unknown, fields: Fields, { stream, secrets }: ChatTurnOptions): void {
  const looksLikeError = fields.error !== undefined || fields.object === 'error' || fields.type === 'error';
  if (looksLikeError && fields.error !== null) throw bodyFailure(chunk, 'openai', secrets);
  if (!stream || typeof chunk === 'string' || Object.keys(fields).length === 0) {
    throw notChat();
  }
}

function notChat(): ModelError {
  return new ModelError('malformed_response', 'openai: the answer is no chat completion');
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
