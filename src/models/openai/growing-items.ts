import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelDelta } from '../../core/values/model.ts';
import { distinctId } from '../answer/commit.ts';
import { type Fields, fieldsOf, listField, textField } from '../failure/fields.ts';

type OnDelta = ((delta: ModelDelta) => void) | undefined;

/** An item as it was announced, what was streamed of it, and as it was when it was done. */
interface GrowingItem {
  readonly first: Fields;
  /** Its `output_index`, and where it stands by it. */
  readonly place: unknown;
  readonly order: number;
  /** Of a call: its place among the calls, when it began. */
  readonly call: number;
  /** Streamed text by part, in order of appearance: thoughts, texts and refusals. */
  readonly texts: Map<string, string>;
  arguments: string;
  done: Fields | undefined;
}

/**
 * The items of one response as they grow: calls, texts and thoughts. An item is known by its id; by its place where the id is new, not
 * there, or another item's as well.
 */
export class GrowingItems {
  readonly #items: GrowingItem[] = [];
  readonly #byId = new Map<unknown, GrowingItem>();
  readonly #byPlace = new Map<unknown, GrowingItem>();
  #calls = 0;

  get size(): number {
    return this.#items.length;
  }

  /** True where a call was cut, by its own word. */
  get hasCut(): boolean {
    return this.#items.some(({ first, done }) => {
      const { type, status } = done ?? first;
      return type === 'function_call' && status === 'incomplete';
    });
  }

  /** True where the answer refuses and says nothing else. */
  get refused(): boolean {
    const said = this.#items.map((item) => saidBy(finished(item)));
    return said.some(({ refusal }) => refusal !== '') && said.every(({ text }) => text === '');
  }

  open(event: Fields, onDelta: OnDelta): void {
    const item = fieldsOf(event.item);
    const before = this.#find(item.id, event.output_index);
    const isKnown = before !== undefined && isSame(before.first, item) && isMeant(before, event, item);
    if (!isKnown) announce(this.#add(event, item), onDelta);
  }

  /** Adds to an item; true where it moved the answer on. */
  grow(event: Fields, onDelta: OnDelta): boolean {
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

  close(event: Fields, onDelta: OnDelta): void {
    const done = fieldsOf(event.item);
    const named = this.#byId.has(done.id) ? this.#find(done.id, event.output_index) : undefined;
    const isNamed = named !== undefined && isMeant(named, event, done);
    const known = isNamed ? named : openAt(this.#byPlace.get(event.output_index), done);
    const item = known ?? this.#add(event, done);
    if (known === undefined) announce(item, onDelta);
    item.done = done;
  }

  /** A part is done, and said whole once more: that counts. */
  settle({ type, item_id, output_index, arguments: args, text, content_index, summary_index }: Fields): void {
    const item = this.#find(item_id, output_index);
    if (item === undefined) return;
    if (typeof args === 'string' && args !== '') item.arguments = args;
    if (typeof text === 'string')
      item.texts.set(`${partOf(String(type))}/${content_index ?? summary_index ?? 0}`, text);
  }

  /** The whole output, as the last event has it: it mends what was not streamed. */
  whole(output: unknown): void {
    const all = listField(output).map(fieldsOf);
    const inPlace = [...this.#items].sort(inOrder);
    const isKnown = all.length <= inPlace.length;
    const named = Map.groupBy(inPlace, ({ first, done }) => textField(done?.id) ?? textField(first.id));
    all.forEach((item, index) => {
      const id = textField(item.id);
      const ofId = id === undefined ? undefined : named.get(id)?.shift();
      const known = ofId ?? (isKnown ? inPlace[index] : undefined);
      if (known === undefined) this.#add({ output_index: index }, item).done = item;
      else if (known.done === undefined && known.first.type === item.type) known.done = item;
    });
  }

  finish(names: ReadonlyMap<string, string>, newId: () => string): { content: AssistantPart[]; items: Fields[] } {
    const taken = new Set<string>();
    const whole = [...this.#items]
      .sort(inOrder)
      .map(finished)
      .map((item) => withId(item, taken, newId));
    return { content: whole.flatMap((item) => partsOf(item, names)), items: whole };
  }

  #add({ output_index }: Fields, item: Fields): GrowingItem {
    const order = typeof output_index === 'number' ? output_index : this.#items.length;
    const call = this.#calls;
    const growing = { first: item, place: output_index, order, call, texts: new Map(), arguments: '', done: undefined };
    if (item.type === 'function_call') this.#calls += 1;
    this.#items.push(growing);
    if (textField(item.id) !== undefined) this.#byId.set(item.id, growing);
    this.#byPlace.set(output_index, growing);
    return growing;
  }

  #find(id: unknown, place: unknown): GrowingItem | undefined {
    const there = this.#byPlace.get(place);
    return there?.first.id === id ? there : (this.#byId.get(id) ?? there);
  }
}

function announce({ first: { type, call_id, name }, call }: GrowingItem, onDelta: OnDelta): void {
  if (onDelta === undefined || type !== 'function_call') return;
  const [id, called] = [textField(call_id), textField(name)];
  const known = { ...(id !== undefined && { id }), ...(called !== undefined && { name: called }) };
  onDelta({ type: 'tool_call', index: call, ...known });
}

/** Deltas of texts, thoughts and refusals; others belong to tools of the provider's own. */
const TEXTS = /^response\.(output_text|text|refusal|reasoning\w*)\.delta$/;

/** Announced once more: the same call, not another one without arguments. */
function isSame(before: Fields, item: Fields): boolean {
  if (textField(item.id) !== undefined || textField(before.id) !== undefined) return before.id === item.id;
  return before.type === item.type && textField(item.call_id) !== undefined && before.call_id === item.call_id;
}

/** Whether what bears the id of an item is that item: some servers give one id to all that they send. */
function isMeant({ first, place, done }: GrowingItem, { output_index }: Fields, item: Fields): boolean {
  const [before, called] = [textField((done ?? first).call_id), textField(item.call_id)];
  const isOtherCall = before !== undefined && called !== undefined && before !== called;
  const isThere = place === undefined || output_index === undefined || place === output_index;
  // An id of a call may still change where it grows; what is done is done.
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

/** Ids that change between events are told apart by the place, as long as the item there is open and of the same kind. */
function openAt(item: GrowingItem | undefined, done: Fields): GrowingItem | undefined {
  return item !== undefined && item.done === undefined && item.first.type === done.type ? item : undefined;
}

/** A text whose start was lost can still be read; a call without its name cannot. */
function impliedItem(kind: string, id: unknown): Fields {
  if (kind.includes('function_call_arguments')) return { type: 'function_call', id };
  return kind.includes('reasoning')
    ? { type: 'reasoning', id, summary: [] }
    : { type: 'message', id, role: 'assistant' };
}

function partOf(kind: string): 'thought' | 'refusal' | 'text' {
  if (kind.includes('reasoning')) return 'thought';
  return kind.includes('refusal') ? 'refusal' : 'text';
}

/** The item as it goes back: as it was when it was done, else as it grew. */
function finished({ first, texts, arguments: grown, done }: GrowingItem): Fields {
  const item = done ?? { ...first, status: 'completed' };
  switch (item.type) {
    case 'function_call': {
      const text = textOfArguments(item.arguments);
      const named = { name: textField(item.name) ?? textField(first.name) ?? '' };
      const called = textField(item.call_id) ?? textField(first.call_id);
      // Some servers announce an empty object, and some finish with one.
      const isStandIn = /^\s*(\{\s*\}\s*)?$/.test(text) && grown !== '';
      return { ...item, ...named, call_id: called, arguments: isStandIn ? grown : text };
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

function withId(item: Fields, taken: Set<string>, newId: () => string): Fields {
  if (item.type !== 'function_call') return item;
  return { ...item, call_id: distinctId(textField(item.call_id), taken, newId) };
}

function saidBy(item: Fields): { text: string; refusal: string } {
  let text = '';
  let refusal = '';
  if (item.type !== 'message') return { text, refusal };
  if (typeof item.content === 'string') return { text: item.content, refusal };
  for (const part of listField(item.content).map(fieldsOf)) {
    text += part.type === 'refusal' ? '' : (textField(part.text) ?? '');
    refusal += textField(part.refusal) ?? '';
  }
  return { text, refusal };
}

function partsOf(item: Fields, names: ReadonlyMap<string, string>): AssistantPart[] {
  switch (item.type) {
    case 'function_call': {
      const name = String(item.name);
      const args = String(item.arguments);
      return [{ type: 'tool_call', id: String(item.call_id), name: names.get(name) ?? name, arguments: args }];
    }
    case 'reasoning': {
      const texts = [...listField(item.summary), ...listField(item.content)].map((part) =>
        textField(fieldsOf(part).text),
      );
      const text = texts.filter((piece) => piece !== undefined).join('\n\n');
      return [text === '' ? { type: 'reasoning' } : { type: 'reasoning', text }];
    }
    case 'message': {
      const { text } = saidBy(item);
      return text === '' ? [] : [{ type: 'text', text }];
    }
  }
  return [];
}
