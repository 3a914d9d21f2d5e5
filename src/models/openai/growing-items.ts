import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelDelta } from '../../core/values/model.ts';
import { distinctId } from '../answer/commit.ts';
import { type BodyFields, bodyFields, listField, textField } from '../failure/fields.ts';

type OnDelta = ((delta: ModelDelta) => void) | undefined;

/** An item as announced, its streamed parts, and its final form. */
interface GrowingItem {
  readonly first: BodyFields;
  /** Its `output_index`, and its position by that index. */
  readonly outputIndex: unknown;
  readonly order: number;
  /** For a call: its index among the calls. */
  readonly call: number;
  /** Streamed text by part, in order of appearance: thoughts, texts and refusals. */
  readonly texts: Map<string, string>;
  arguments: string;
  done: BodyFields | undefined;
}

/**
 * The items of one response as they grow: calls, texts and thoughts. An item is found by its id, or by its output index if the id is new,
 * absent, or shared with another item.
 */
export class GrowingItems {
  readonly #items: GrowingItem[] = [];
  readonly #byId = new Map<unknown, GrowingItem>();
  readonly #byOutputIndex = new Map<unknown, GrowingItem>();
  #calls = 0;

  get size(): number {
    return this.#items.length;
  }

  /** True if a call has the status `incomplete`. */
  get hasIncompleteCall(): boolean {
    return this.#items.some(({ first, done }) => {
      const { type, status } = done ?? first;
      return type === 'function_call' && status === 'incomplete';
    });
  }

  /** True if the answer is a refusal without other text. */
  get refused(): boolean {
    const texts = this.#items.map((item) => textsOf(finished(item)));
    return texts.some(({ refusal }) => refusal !== '') && texts.every(({ text }) => text === '');
  }

  open(event: BodyFields, onDelta: OnDelta): void {
    const item = bodyFields(event.item);
    const before = this.#find(item.id, event.output_index);
    const isKnown = before !== undefined && isRepeated(before.first, item) && isSameItem(before, event, item);
    if (!isKnown) announce(this.#add(event, item), onDelta);
  }

  /** Adds to an item; true if that was progress. */
  grow(event: BodyFields, onDelta: OnDelta): boolean {
    const kind = String(event.type);
    const isCall = kind === 'response.function_call_arguments.delta';
    const piece = isCall ? textOfArguments(event.delta) : (textField(event.delta) ?? '');
    if (piece === '' || !(isCall || TEXTS.test(kind))) return false;
    const item = this.#find(event.item_id, event.output_index) ?? this.#add(event, impliedItem(kind, event.item_id));
    if (isCall) {
      item.arguments += piece;
      onDelta?.({ type: 'tool_call', index: item.call, arguments: piece });
      return true;
    }
    const part = `${partOf(kind)}/${event.content_index ?? event.summary_index ?? 0}`;
    item.texts.set(part, (item.texts.get(part) ?? '') + piece);
    if (onDelta === undefined) return true;
    if (part.startsWith('text')) onDelta({ type: 'text', text: piece });
    else if (part.startsWith('thought')) onDelta({ type: 'reasoning', text: piece });
    return true;
  }

  close(event: BodyFields, onDelta: OnDelta): void {
    const done = bodyFields(event.item);
    const named = this.#byId.has(done.id) ? this.#find(done.id, event.output_index) : undefined;
    const isNamed = named !== undefined && isSameItem(named, event, done);
    const existing = isNamed ? named : openAt(this.#byOutputIndex.get(event.output_index), done);
    const item = existing ?? this.#add(event, done);
    if (existing === undefined) announce(item, onDelta);
    item.done = done;
  }

  /** Replaces a part with its final text, which an event repeats. */
  replacePart({ type, item_id, output_index, arguments: args, text, content_index, summary_index }: BodyFields): void {
    const item = this.#find(item_id, output_index);
    if (item === undefined) return;
    if (typeof args === 'string' && args !== '') item.arguments = args;
    if (typeof text === 'string')
      item.texts.set(`${partOf(String(type))}/${content_index ?? summary_index ?? 0}`, text);
  }

  /** Takes the whole output of the last event, which completes parts that were not streamed. */
  whole(output: unknown): void {
    const all = listField(output).map(bodyFields);
    const ordered = [...this.#items].sort(inOrder);
    const isKnown = all.length <= ordered.length;
    const named = Map.groupBy(ordered, ({ first, done }) => textField(done?.id) ?? textField(first.id));
    all.forEach((item, index) => {
      const id = textField(item.id);
      const ofId = id === undefined ? undefined : named.get(id)?.shift();
      const existing = ofId ?? (isKnown ? ordered[index] : undefined);
      if (existing === undefined) this.#add({ output_index: index }, item).done = item;
      else if (existing.done === undefined && existing.first.type === item.type) existing.done = item;
    });
  }

  finish(names: ReadonlyMap<string, string>, newId: () => string): { content: AssistantPart[]; items: BodyFields[] } {
    const taken = new Set<string>();
    const whole = [...this.#items]
      .sort(inOrder)
      .map(finished)
      .map((item) => withId(item, taken, newId));
    return { content: whole.flatMap((item) => partsOf(item, names)), items: whole };
  }

  #add({ output_index }: BodyFields, item: BodyFields): GrowingItem {
    const order = typeof output_index === 'number' ? output_index : this.#items.length;
    const call = this.#calls;
    const growing = {
      first: item,
      outputIndex: output_index,
      order,
      call,
      texts: new Map(),
      arguments: '',
      done: undefined,
    };
    if (item.type === 'function_call') this.#calls += 1;
    this.#items.push(growing);
    if (textField(item.id) !== undefined) this.#byId.set(item.id, growing);
    this.#byOutputIndex.set(output_index, growing);
    return growing;
  }

  #find(id: unknown, outputIndex: unknown): GrowingItem | undefined {
    const there = this.#byOutputIndex.get(outputIndex);
    return there?.first.id === id ? there : (this.#byId.get(id) ?? there);
  }
}

function announce({ first: { type, call_id, name }, call }: GrowingItem, onDelta: OnDelta): void {
  if (onDelta === undefined || type !== 'function_call') return;
  const [id, called] = [textField(call_id), textField(name)];
  const existing = { ...(id !== undefined && { id }), ...(called !== undefined && { name: called }) };
  onDelta({ type: 'tool_call', index: call, ...existing });
}

/** Deltas of texts, thoughts and refusals; others belong to the provider's own tools. */
const TEXTS = /^response\.(output_text|text|refusal|reasoning\w*)\.delta$/;

/** Whether an item is announced again: the same call, not another one without arguments. */
function isRepeated(before: BodyFields, item: BodyFields): boolean {
  if (textField(item.id) !== undefined || textField(before.id) !== undefined) return before.id === item.id;
  return before.type === item.type && textField(item.call_id) !== undefined && before.call_id === item.call_id;
}

/** Whether an event with the id of an item belongs to it: some servers use one id for all items. */
function isSameItem(
  { first, outputIndex, done }: GrowingItem,
  { output_index }: BodyFields,
  item: BodyFields,
): boolean {
  const [before, called] = [textField((done ?? first).call_id), textField(item.call_id)];
  const isOtherCall = before !== undefined && called !== undefined && before !== called;
  const isThere = outputIndex === undefined || output_index === undefined || outputIndex === output_index;
  // The id of a growing call may still change; that of a finished one may not.
  if (done === undefined) return isThere || !isOtherCall;
  return isThere ? !isOtherCall : before !== undefined && before === called;
}

/** Arguments are JSON text; some servers send the object. */
function textOfArguments(given: unknown): string {
  return typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given);
}

function inOrder(a: GrowingItem, b: GrowingItem): number {
  return a.order - b.order;
}

/** If ids change between events, the output index identifies an item, as long as the item there is open and of the same kind. */
function openAt(item: GrowingItem | undefined, done: BodyFields): GrowingItem | undefined {
  return item !== undefined && item.done === undefined && item.first.type === done.type ? item : undefined;
}

/** A text is usable without its start; a call without its name is not. */
function impliedItem(kind: string, id: unknown): BodyFields {
  if (kind.includes('function_call_arguments')) return { type: 'function_call', id };
  return kind.includes('reasoning')
    ? { type: 'reasoning', id, summary: [] }
    : { type: 'message', id, role: 'assistant' };
}

function partOf(kind: string): 'thought' | 'refusal' | 'text' {
  if (kind.includes('reasoning')) return 'thought';
  return kind.includes('refusal') ? 'refusal' : 'text';
}

/** The item for the next request: its final form, else its streamed parts. */
function finished({ first, texts, arguments: grown, done }: GrowingItem): BodyFields {
  const item = done ?? { ...first, status: 'completed' };
  switch (item.type) {
    case 'function_call': {
      const text = textOfArguments(item.arguments);
      const named = { name: textField(item.name) ?? textField(first.name) ?? '' };
      const called = textField(item.call_id) ?? textField(first.call_id);
      // Some servers announce an empty object, and some finish with one.
      const isPlaceholder = /^\s*(\{\s*\}\s*)?$/.test(text) && grown !== '';
      return { ...item, ...named, call_id: called, arguments: isPlaceholder ? grown : text };
    }
    case 'message': {
      if (listField(item.content).length > 0 || texts.size === 0) return item;
      const content = [...texts].map(([part, text]) =>
        part.startsWith('refusal')
          ? { type: 'refusal', refusal: text }
          : { type: 'output_text', text, annotations: [] },
      );
      return { ...item, role: 'assistant', content };
    }
    case 'reasoning': {
      if (listField(item.summary).length > 0 || listField(item.content).length > 0 || texts.size === 0) return item;
      return { ...item, summary: [...texts.values()].map((text) => ({ type: 'summary_text', text })) };
    }
  }
  return item;
}

function withId(item: BodyFields, taken: Set<string>, newId: () => string): BodyFields {
  if (item.type !== 'function_call') return item;
  return { ...item, call_id: distinctId(textField(item.call_id), taken, newId) };
}

function textsOf(item: BodyFields): { text: string; refusal: string } {
  let text = '';
  let refusal = '';
  if (item.type !== 'message') return { text, refusal };
  if (typeof item.content === 'string') return { text: item.content, refusal };
  for (const part of listField(item.content).map(bodyFields)) {
    text += part.type === 'refusal' ? '' : (textField(part.text) ?? '');
    refusal += textField(part.refusal) ?? '';
  }
  return { text, refusal };
}

function partsOf(item: BodyFields, names: ReadonlyMap<string, string>): AssistantPart[] {
  switch (item.type) {
    case 'function_call': {
      const name = String(item.name);
      const args = String(item.arguments);
      return [{ type: 'tool_call', id: String(item.call_id), name: names.get(name) ?? name, arguments: args }];
    }
    case 'reasoning': {
      const texts = [...listField(item.summary), ...listField(item.content)].map((part) =>
        textField(bodyFields(part).text),
      );
      const text = texts.filter((piece) => piece !== undefined).join('\n\n');
      return [text === '' ? { type: 'reasoning' } : { type: 'reasoning', text }];
    }
    case 'message': {
      const { text } = textsOf(item);
      return text === '' ? [] : [{ type: 'text', text }];
    }
  }
  return [];
}
