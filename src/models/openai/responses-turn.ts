import { ModelError } from '../../core/errors.ts';
import type { ModelTurn } from '../../core/model.ts';
import type { CallUsage } from '../../core/usage.ts';
import { commit, type Ending } from '../commit.ts';
import type { Assembler } from '../exchange.ts';
import { bodyFailure } from '../failure.ts';
import { countField, type Fields, fieldsOf, textField } from '../fields.ts';
import { nativeTurn, type Origin } from '../native-turn.ts';
import { DONE } from '../repair.ts';
import { growingItems } from './growing-items.ts';

export interface ResponsesTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  readonly origin: Origin;
  readonly secrets?: readonly string[];
}

/** Events of a response stream, or a whole response, as a turn. */
export function assembleResponsesTurn(events: Iterable<unknown>, options: ResponsesTurnOptions): ModelTurn {
  const assembler = responsesAssembler(options);
  for (const event of events) {
    assembler.take(event);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

/** One turn of the Responses protocol, streamed or whole. Its only ends are `response.completed`, `.incomplete` and `.failed`. */
export function responsesAssembler(options: ResponsesTurnOptions): Assembler {
  const items = growingItems();
  let state: Assembler['state'] = 'open';
  let ending: Ending = 'cut';
  let usage: CallUsage | undefined;
  let response: { id?: string; model?: string } = {};

  const note = (fields: Fields) => {
    usage = usageOf(fields) ?? usage;
    response = { ...response, ...identityOf(fields) };
  };
  const end = (fields: Fields, status: unknown): true => {
    note(fields);
    state = 'closed';
    if (status === 'failed' || fields.error) throw bodyFailure(fields.error ?? {}, 'openai', options.secrets);
    items.whole(fields.output);
    ending = status === 'completed' ? 'end' : endingOf(fieldsOf(fields.incomplete_details).reason, status);
    return true;
  };
  const takeWhole = (event: unknown, fields: Fields): boolean => {
    if (fields.object === DONE) {
      state = 'closed';
      return true;
    }
    if (!('output' in fields) && !('status' in fields)) refuseOther(event, fields, options.secrets);
    return end(fields, textField(fields.status) ?? 'completed');
  };
  return {
    get state() {
      return state;
    },
    get usage() {
      return usage;
    },
    take(event, onDelta) {
      const fields = fieldsOf(event);
      const type = textField(fields.type);
      if (type === undefined) return takeWhole(event, fields);
      switch (type) {
        case 'response.created':
        case 'response.queued':
        case 'response.in_progress':
          note(fieldsOf(fields.response));
          return false;
        case 'response.output_item.added':
          items.open(fields, onDelta);
          return true;
        case 'response.output_item.done':
          items.close(fields, onDelta);
          return true;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          return end(fieldsOf(fields.response), type.slice('response.'.length));
        case 'error':
          throw bodyFailure(
            fields.error ? fields : { error: { ...fields, type: undefined } },
            'openai',
            options.secrets,
          );
      }
      if (type.endsWith('.delta')) return items.grow(fields, onDelta);
      if (/^response\.(function_call_arguments|output_text|reasoning\w*_text)\.done$/.test(type)) items.settle(fields);
      // Searches and the like report how they get on; a ping does not belong to an item.
      return fields.output_index !== undefined;
    },
    turn() {
      const { content, items: native } = items.finish(options.names, options.newId);
      const isRefusal = items.refused && (ending === 'end' || ending === 'filtered');
      if (ending === 'end' && items.size === 0) {
        throw new ModelError('empty_response', 'openai: the response has no output', { usage });
      }
      return commit('openai', isRefusal ? 'refused' : ending, {
        content,
        native: nativeTurn(options.origin, native),
        ...(usage === undefined ? {} : { usage }),
        response,
      });
    },
  };
}

function endingOf(reason: unknown, status: unknown): Ending {
  if (status === 'cancelled') return 'failed';
  if (status !== 'incomplete') return 'cut';
  return reason === 'content_filter' ? 'filtered' : 'length';
}

/** An answer that is no response at all. */
function refuseOther(event: unknown, fields: Fields, secrets: readonly string[] | undefined): never {
  if (fields.error) throw bodyFailure(event, 'openai', secrets);
  throw new ModelError('malformed_response', 'openai: the answer is no response of the Responses API');
}

function identityOf({ id, model }: Fields): { id?: string; model?: string } {
  const [known, name] = [textField(id), textField(model)];
  return { ...(known === undefined ? {} : { id: known }), ...(name === undefined ? {} : { model: name }) };
}

/** Input tokens include the cached ones here. */
function usageOf(response: Fields): CallUsage | undefined {
  const usage = fieldsOf(response.usage);
  const inputTokens = countField(usage.input_tokens);
  const outputTokens = countField(usage.output_tokens);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const input = fieldsOf(usage.input_tokens_details);
  const cached = countField(input.cached_tokens);
  const written = countField(input.cache_write_tokens);
  const thought = countField(fieldsOf(usage.output_tokens_details).reasoning_tokens);
  return {
    inputTokens,
    outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
