import { ModelError } from '../../core/errors.ts';
import type { ModelTurn } from '../../core/model.ts';
import type { CallUsage } from '../../core/usage.ts';
import { commit, type Ending } from '../commit.ts';
import type { Assembler } from '../exchange.ts';
import { bodyFailure } from '../failure.ts';
import { countField, type Fields, fieldsOf, listField, textField } from '../fields.ts';
import type { Origin } from '../native-turn.ts';
import { growingBlocks } from './growing-blocks.ts';

export interface AnthropicTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
  readonly origin: Origin;
  readonly secrets?: readonly string[];
}

/** Events of a message stream, or a whole message, as a turn. */
export function assembleAnthropicTurn(events: Iterable<unknown>, options: AnthropicTurnOptions): ModelTurn {
  const assembler = anthropicAssembler(options);
  for (const event of events) {
    assembler.take(event);
    if (assembler.state === 'closed') break;
  }
  return assembler.turn();
}

const ENDINGS: { readonly [reason: string]: Ending } = {
  max_tokens: 'length',
  model_context_window_exceeded: 'full',
  pause_turn: 'paused',
  refusal: 'refused',
};

/** One turn of the Messages protocol, streamed or whole. */
export function anthropicAssembler(options: AnthropicTurnOptions): Assembler {
  const blocks = growingBlocks();
  let state: Assembler['state'] = 'open';
  let ending: Ending = 'cut';
  let usage: Fields = {};
  let response: { id?: string; model?: string } = {};

  const begin = (message: Fields) => {
    usage = { ...usage, ...present(message.usage) };
    response = { ...response, ...identityOf(message) };
    return true;
  };
  const takeDelta = ({ delta, usage: counts }: Fields) => {
    usage = { ...usage, ...present(counts) };
    const reason = textField(fieldsOf(delta).stop_reason);
    if (reason !== undefined) ending = ENDINGS[reason] ?? 'end';
    if (reason !== undefined && state === 'open') state = 'complete';
    return true;
  };
  const close = () => {
    state = 'closed';
    if (ending === 'cut' && blocks.size > 0) ending = 'end';
    return true;
  };
  const take: Assembler['take'] = (event, onDelta) => {
    const fields = fieldsOf(event);
    switch (fields.type) {
      case 'message_start':
        return begin(fieldsOf(fields.message));
      case 'content_block_start':
        return blocks.open(fields.index, fieldsOf(fields.content_block), onDelta);
      case 'content_block_delta':
        return blocks.grow(fields.index, fieldsOf(fields.delta), onDelta);
      case 'message_delta':
        return takeDelta(fields);
      case 'message_stop':
        return close();
      case 'message':
        for (const part of eventsOf(fields)) take(part, onDelta);
        return true;
      case 'error':
        throw bodyFailure(event, 'anthropic', options.secrets);
    }
    if (fields.type === undefined) refuseOther(event, fields, options.secrets);
    return false;
  };
  return {
    get state() {
      return state;
    },
    get usage() {
      return usageOf(usage);
    },
    take,
    turn() {
      const counted = usageOf(usage);
      return commit('anthropic', ending, {
        ...blocks.finish(options.names, options.newId, options.origin),
        ...(counted === undefined ? {} : { usage: counted }),
        response,
      });
    },
  };
}

/** A whole message as the events that a stream would have sent. */
function eventsOf(message: Fields): Fields[] {
  const stop_reason = textField(message.stop_reason) ?? 'end_turn';
  return [
    { type: 'message_start', message },
    ...listField(message.content).map((content_block, index) => ({
      type: 'content_block_start',
      index,
      content_block,
    })),
    { type: 'message_delta', delta: { stop_reason } },
    { type: 'message_stop' },
  ];
}

function refuseOther(event: unknown, fields: Fields, secrets: readonly string[] | undefined): never {
  if (fields.error !== undefined) throw bodyFailure(event, 'anthropic', secrets);
  throw new ModelError('malformed_response', 'anthropic: the answer is no message');
}

function identityOf({ id, model }: Fields): { id?: string; model?: string } {
  const [known, name] = [textField(id), textField(model)];
  return { ...(known === undefined ? {} : { id: known }), ...(name === undefined ? {} : { model: name }) };
}

/** Counts that are there: a later null takes nothing back. */
function present(usage: unknown): Fields {
  return Object.fromEntries(
    Object.entries(fieldsOf(usage)).filter(([, count]) => count !== null && count !== undefined),
  );
}

/** Cached and cache-writing tokens stand beside `input_tokens` here; the whole prompt is their sum. */
function usageOf(usage: Fields): CallUsage | undefined {
  const input = countField(usage.input_tokens);
  const outputTokens = countField(usage.output_tokens);
  if (input === undefined || outputTokens === undefined) return undefined;
  const read = countField(usage.cache_read_input_tokens);
  const written = countField(usage.cache_creation_input_tokens);
  const thought = countField(fieldsOf(usage.output_tokens_details).thinking_tokens);
  return {
    inputTokens: input + (read ?? 0) + (written ?? 0),
    outputTokens,
    ...(read === undefined ? {} : { cachedInputTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
