import { ModelError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { AssistantPart } from '../../core/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/model.ts';
import type { CallUsage } from '../../core/usage.ts';
import { commit, distinctId, type Ending } from '../commit.ts';
import type { Assembler } from '../exchange.ts';
import { bodyFailure } from '../failure.ts';
import { countField, type Fields, fieldsOf, listField, textField } from '../fields.ts';
import { inputOf } from './blocks.ts';

export interface AnthropicTurnOptions {
  /** Legal name → the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Makes an id where the server gave none. */
  readonly newId: () => string;
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

/** A block as it grows: as the provider sent it, and the JSON text of its input. */
interface GrowingBlock {
  readonly block: { [field: string]: unknown };
  json: string;
}

const ENDINGS: { readonly [reason: string]: Ending } = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'paused',
  refusal: 'refused',
};

/** One turn of the Messages protocol, streamed or whole. */
export function anthropicAssembler(options: AnthropicTurnOptions): Assembler {
  /** By index, which may have gaps; a Map keeps the order in which they began. */
  const blocks = new Map<unknown, GrowingBlock>();
  let state: Assembler['state'] = 'open';
  let ending: Ending = 'cut';
  let usage: Fields = {};
  let response: { id?: string; model?: string } = {};

  const begin = (message: Fields) => {
    usage = { ...usage, ...present(message.usage) };
    response = { ...response, ...identityOf(message) };
  };
  const end = (reason: string) => {
    ending = ENDINGS[reason] ?? 'end';
    if (state === 'open') state = 'complete';
  };
  const takeDelta = (delta: Fields, index: unknown, onDelta: ((delta: ModelDelta) => void) | undefined): boolean => {
    const growing = blocks.get(index) ?? openBlock(blocks, index, impliedBlock(delta));
    const piece = growing === undefined ? undefined : grow(growing, delta);
    if (growing === undefined || piece === undefined) return false;
    if (growing.block.type === 'tool_use') {
      onDelta?.({ type: 'tool_call', index: callIndex(blocks, growing), arguments: piece });
    } else if (delta.type === 'text_delta') onDelta?.({ type: 'text', text: piece });
    else if (delta.type === 'thinking_delta') onDelta?.({ type: 'reasoning', text: piece });
    return true;
  };
  return {
    get state() {
      return state;
    },
    take(event, onDelta) {
      const fields = fieldsOf(event);
      switch (fields.type) {
        case 'message_start':
          begin(fieldsOf(fields.message));
          return true;
        case 'content_block_start': {
          const growing = openBlock(blocks, fields.index, fieldsOf(fields.content_block));
          if (growing !== undefined) announce(blocks, growing, onDelta);
          return growing !== undefined;
        }
        case 'content_block_delta':
          return takeDelta(fieldsOf(fields.delta), fields.index, onDelta);
        case 'content_block_stop':
          return true;
        case 'message_delta': {
          usage = { ...usage, ...present(fields.usage) };
          const reason = textField(fieldsOf(fields.delta).stop_reason);
          if (reason !== undefined) end(reason);
          return true;
        }
        case 'message_stop':
          state = 'closed';
          if (ending === 'cut' && blocks.size > 0) ending = 'end';
          return true;
        case 'message':
          begin(fields);
          for (const [index, block] of listField(fields.content).entries()) {
            const growing = openBlock(blocks, index, fieldsOf(block));
            if (growing !== undefined) announce(blocks, growing, onDelta);
          }
          end(textField(fields.stop_reason) ?? 'end_turn');
          state = 'closed';
          return true;
        case 'error':
          throw bodyFailure(event, 'anthropic', options.secrets);
      }
      if (fields.type === undefined) refuseOther(event, fields, options.secrets);
      return false;
    },
    turn() {
      const taken = new Set<string>();
      const native: Fields[] = [];
      const content: AssistantPart[] = [];
      for (const growing of blocks.values()) {
        const block = finish(growing, taken, options.newId);
        native.push(block);
        const part = partOf(block, growing.json, options.names);
        if (part !== undefined) content.push(part);
      }
      const counted = usageOf(usage);
      return commit('anthropic', ending, {
        content,
        ...(counted === undefined ? {} : { usage: counted }),
        // Everything in it was parsed from JSON.
        native: { role: 'assistant', content: native as unknown as Json },
        response,
      });
    },
  };
}

function refuseOther(event: unknown, fields: Fields, secrets: readonly string[] | undefined): never {
  if (fields.error !== undefined) throw bodyFailure(event, 'anthropic', secrets);
  throw new ModelError('malformed_response', 'anthropic: the answer is no message');
}

function openBlock(blocks: Map<unknown, GrowingBlock>, index: unknown, block: Fields): GrowingBlock | undefined {
  if (typeof block.type !== 'string') return undefined;
  const growing = { block: { ...block }, json: '' };
  // A start that comes twice for one index is another block, not the end of the first.
  if (blocks.has(index)) blocks.set(Symbol('replaced'), takeOut(blocks, index));
  blocks.set(index, growing);
  return growing;
}

function takeOut(blocks: Map<unknown, GrowingBlock>, index: unknown): GrowingBlock {
  const before = blocks.get(index) ?? { block: {}, json: '' };
  blocks.delete(index);
  return before;
}

/** A text or thought whose start was lost can still be read; a call without its name cannot. */
function impliedBlock({ type }: Fields): Fields {
  if (type === 'text_delta') return { type: 'text', text: '' };
  return type === 'thinking_delta' ? { type: 'thinking', thinking: '', signature: '' } : {};
}

function announce(
  blocks: Map<unknown, GrowingBlock>,
  growing: GrowingBlock,
  onDelta: ((delta: ModelDelta) => void) | undefined,
): void {
  const { type, id, name, text, thinking } = growing.block;
  if (onDelta === undefined) return;
  if (type === 'tool_use') {
    const [known, called] = [textField(id), textField(name)];
    onDelta({
      type: 'tool_call',
      index: callIndex(blocks, growing),
      ...(known === undefined ? {} : { id: known }),
      ...(called === undefined ? {} : { name: called }),
    });
  } else if (type === 'text' && textField(text) !== undefined) onDelta({ type: 'text', text: String(text) });
  else if (type === 'thinking' && textField(thinking) !== undefined) {
    onDelta({ type: 'reasoning', text: String(thinking) });
  }
}

function callIndex(blocks: Map<unknown, GrowingBlock>, growing: GrowingBlock): number {
  return [...blocks.values()].filter(({ block }) => block.type === 'tool_use').indexOf(growing);
}

/** Adds a delta to its block; gives what it added, or undefined where the kind of delta is not known. */
function grow(growing: GrowingBlock, delta: Fields): string | undefined {
  const { block } = growing;
  const append = (field: string, piece: unknown): string => {
    const text = typeof piece === 'string' ? piece : '';
    block[field] = `${typeof block[field] === 'string' ? block[field] : ''}${text}`;
    return text;
  };
  switch (delta.type) {
    case 'text_delta':
      return append('text', delta.text);
    case 'thinking_delta':
      return append('thinking', delta.thinking);
    case 'signature_delta':
      return append('signature', delta.signature);
    case 'input_json_delta': {
      const piece = typeof delta.partial_json === 'string' ? delta.partial_json : '';
      growing.json += piece;
      return piece;
    }
    case 'citations_delta':
      block.citations = [...listField(block.citations), delta.citation];
      return '';
  }
  return undefined;
}

/** The block as it goes back. The input that came with the start counts where no text of it followed. */
function finish({ block, json }: GrowingBlock, taken: Set<string>, newId: () => string): Fields {
  const whole = json.trim() === '' ? block : { ...block, input: inputOf(json) };
  if (block.type !== 'tool_use') return whole;
  return { ...whole, input: whole.input ?? {}, id: distinctId(textField(block.id), taken, newId) };
}

function partOf(block: Fields, json: string, names: ReadonlyMap<string, string>): AssistantPart | undefined {
  switch (block.type) {
    case 'text':
      return textField(block.text) === undefined ? undefined : { type: 'text', text: String(block.text) };
    case 'thinking':
      return { type: 'reasoning', text: textField(block.thinking) ?? '' };
    case 'redacted_thinking':
      return { type: 'reasoning' };
    case 'tool_use': {
      const name = textField(block.name) ?? '';
      const args = json.trim() === '' ? JSON.stringify(block.input) : json;
      return { type: 'tool_call', id: String(block.id), name: names.get(name) ?? name, arguments: args };
    }
  }
  return undefined;
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
