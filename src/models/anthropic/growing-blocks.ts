import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelDelta, ModelTurn } from '../../core/values/model.ts';
import { distinctId } from '../answer/commit.ts';
import { nativeTurn, type TurnOrigin } from '../answer/native-turn.ts';
import { type BodyFields, textField } from '../failure/fields.ts';
import { inputOf } from './blocks.ts';

type OnDelta = ((delta: ModelDelta) => void) | undefined;

/** A block as it grows: as the provider sent it, and the JSON text of its input. */
interface GrowingBlock {
  readonly block: { [field: string]: unknown };
  json: string;
  /** For a call: its index among the calls. */
  readonly call: number;
}

/** The blocks of one message as they grow. `open` and `grow` are true where they moved the message on. */
export class GrowingBlocks {
  /** In the order in which they began. */
  readonly #blocks: GrowingBlock[] = [];
  /** The block of an index; indexes may have gaps, be reused, and be texts. */
  readonly #atIndex = new Map<string, GrowingBlock>();
  #calls = 0;
  #lost = false;

  /** True if the start of a call, and so its name, was lost. */
  get hasLost(): boolean {
    return this.#lost;
  }

  get size(): number {
    return this.#blocks.length;
  }

  open(index: unknown, block: BodyFields, onDelta: OnDelta): boolean {
    const growing = this.#open(index, block);
    if (growing !== undefined && onDelta !== undefined) announce(growing, onDelta);
    return growing !== undefined;
  }

  grow(index: unknown, delta: BodyFields, onDelta: OnDelta): boolean {
    const growing = this.#atIndex.get(String(index)) ?? this.#open(index, impliedBlock(delta));
    if (growing === undefined && delta.type === 'input_json_delta') this.#lost = true;
    const piece = growing === undefined ? undefined : grow(growing, delta);
    if (growing === undefined || piece === undefined || piece === '') return false;
    if (onDelta === undefined) return true;
    if (growing.block.type === 'tool_use') onDelta({ type: 'tool_call', index: growing.call, arguments: piece });
    else if (delta.type === 'text_delta') onDelta({ type: 'text', text: piece });
    else if (delta.type === 'thinking_delta') onDelta({ type: 'reasoning', text: piece });
    return true;
  }

  #open(index: unknown, block: BodyFields): GrowingBlock | undefined {
    if (typeof block.type !== 'string') return undefined;
    const before = this.#atIndex.get(String(index));
    // Announced twice: the same call, not another one without arguments.
    if (before !== undefined && textField(block.id) !== undefined && before.block.id === block.id) return before;
    const growing = { block: { ...block }, json: '', call: this.#calls };
    if (block.type === 'tool_use') this.#calls += 1;
    // A start that comes twice for one index is another block, not the end of the first.
    this.#blocks.push(growing);
    this.#atIndex.set(String(index), growing);
    return growing;
  }

  finish(
    names: ReadonlyMap<string, string>,
    newId: () => string,
    origin: TurnOrigin,
  ): Pick<ModelTurn, 'content' | 'native'> {
    const taken = new Set<string>();
    const native: BodyFields[] = [];
    const content: AssistantPart[] = [];
    for (const growing of this.#blocks) {
      const block = finish(growing, taken, newId);
      native.push(block);
      const part = partOf(block, growing, names);
      if (part !== undefined) content.push(part);
    }
    return { content, native: nativeTurn(origin, native) };
  }
}

/** A text or thought is usable without its start; a call without its name is not. */
function impliedBlock({ type }: BodyFields): BodyFields {
  if (type === 'text_delta') return { type: 'text', text: '' };
  return type === 'thinking_delta' ? { type: 'thinking', thinking: '', signature: '' } : {};
}

function announce({ block, call }: GrowingBlock, onDelta: (delta: ModelDelta) => void): void {
  const { type, id, name, text, thinking } = block;
  if (type === 'tool_use') {
    const [known, called] = [textField(id), textField(name)];
    const given = { ...(known !== undefined && { id: known }), ...(called !== undefined && { name: called }) };
    onDelta({ type: 'tool_call', index: call, ...given });
  } else if (type === 'text' && textField(text) !== undefined) onDelta({ type: 'text', text: String(text) });
  else if (type === 'thinking' && textField(thinking) !== undefined) {
    onDelta({ type: 'reasoning', text: String(thinking) });
  }
}

/** Adds a delta to its block; returns the added text, or undefined for an unknown kind of delta. */
function grow(growing: GrowingBlock, delta: BodyFields): string | undefined {
  const { block } = growing;
  switch (delta.type) {
    case 'text_delta':
      return append(block, 'text', delta.text);
    case 'thinking_delta':
      return append(block, 'thinking', delta.thinking);
    case 'signature_delta':
      return append(block, 'signature', delta.signature);
    case 'input_json_delta': {
      const { partial_json: given } = delta;
      const piece = typeof given === 'string' ? given : given === undefined || given === null ? '' : textOfInput(given);
      growing.json += piece;
      return piece;
    }
    case 'citations_delta':
      if (Array.isArray(block.citations)) block.citations.push(delta.citation);
      else block.citations = [delta.citation];
      return '';
  }
  return undefined;
}

function append(block: GrowingBlock['block'], field: string, piece: unknown): string {
  const text = typeof piece === 'string' ? piece : '';
  const before = block[field];
  block[field] = typeof before === 'string' ? before + text : text;
  return text;
}

/** The block as it goes back. The input that came with the start counts where no text of it followed. */
function finish({ block, json }: GrowingBlock, taken: Set<string>, newId: () => string): BodyFields {
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
    // Nested deeper than the engine can parse: reported to the model as invalid JSON.
    return '(nested too deep)';
  }
}

function partOf(
  block: BodyFields,
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
