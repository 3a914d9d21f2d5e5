import type { AssistantPart } from '../../core/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/model.ts';
import { distinctId } from '../commit.ts';
import { type Fields, listField, textField } from '../fields.ts';
import { nativeTurn, type Origin } from '../native-turn.ts';
import { inputOf } from './blocks.ts';

type OnDelta = ((delta: ModelDelta) => void) | undefined;

/** The blocks of one message as they grow. Each method is true where it moved the message on. */
export interface GrowingBlocks {
  readonly size: number;
  open(index: unknown, block: Fields, onDelta: OnDelta): boolean;
  grow(index: unknown, delta: Fields, onDelta: OnDelta): boolean;
  finish(
    names: ReadonlyMap<string, string>,
    newId: () => string,
    origin: Origin,
  ): Pick<ModelTurn, 'content' | 'native'>;
}

/** A block as it grows: as the provider sent it, and the JSON text of its input. */
interface GrowingBlock {
  readonly block: { [field: string]: unknown };
  json: string;
}

export function growingBlocks(): GrowingBlocks {
  /** By index, which may have gaps; a Map keeps the order in which they began. */
  const blocks = new Map<unknown, GrowingBlock>();
  return {
    get size() {
      return blocks.size;
    },
    open(index, block, onDelta) {
      const growing = openBlock(blocks, index, block);
      if (growing !== undefined) announce(blocks, growing, onDelta);
      return growing !== undefined;
    },
    grow(index, delta, onDelta) {
      const growing = blocks.get(index) ?? openBlock(blocks, index, impliedBlock(delta));
      const piece = growing === undefined ? undefined : grow(growing, delta);
      if (growing === undefined || piece === undefined || piece === '') return false;
      if (growing.block.type === 'tool_use') {
        onDelta?.({ type: 'tool_call', index: callIndex(blocks, growing), arguments: piece });
      } else if (delta.type === 'text_delta') onDelta?.({ type: 'text', text: piece });
      else if (delta.type === 'thinking_delta') onDelta?.({ type: 'reasoning', text: piece });
      return true;
    },
    finish(names, newId, origin) {
      const taken = new Set<string>();
      const native: Fields[] = [];
      const content: AssistantPart[] = [];
      for (const growing of blocks.values()) {
        const block = finish(growing, taken, newId);
        native.push(block);
        const part = partOf(block, growing, names);
        if (part !== undefined) content.push(part);
      }
      return { content, native: nativeTurn(origin, native) };
    },
  };
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
  const text = json.trim() === '' ? textOfInput(block.input ?? {}) : json;
  return { ...block, input: inputOf(text), id: distinctId(textField(block.id), taken, newId) };
}

/** The input as the text of arguments: some servers send it as text. */
function textOfInput(input: unknown): string {
  if (typeof input === 'string') return input;
  try {
    return JSON.stringify(input) ?? '';
  } catch {
    // Nested deeper than the engine can follow: no JSON, as the model will be told.
    return '(nested too deep)';
  }
}

function partOf(
  block: Fields,
  { block: start, json }: GrowingBlock,
  names: ReadonlyMap<string, string>,
): AssistantPart | undefined {
  switch (block.type) {
    case 'text':
      return textField(block.text) === undefined ? undefined : { type: 'text', text: String(block.text) };
    case 'thinking':
      return { type: 'reasoning', text: textField(block.thinking) ?? '' };
    case 'redacted_thinking':
      return { type: 'reasoning' };
    case 'tool_use': {
      const name = textField(block.name) ?? '';
      const args = json.trim() === '' ? textOfInput(start.input ?? {}) : json;
      return { type: 'tool_call', id: String(block.id), name: names.get(name) ?? name, arguments: args };
    }
  }
  return undefined;
}
