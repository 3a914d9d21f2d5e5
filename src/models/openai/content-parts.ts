import { type BodyFields, bodyFields, textField } from '../failure/fields.ts';
import { growList } from './grow-list.ts';

type Part = { [field: string]: unknown };

/**
 * Content that comes as a list with thoughts in it (Mistral's), put together as the server wants it back: thoughts and texts in their order,
 * the pieces of each as one.
 */
export class ContentParts {
  readonly #parts: Part[] = [];
  #hasThoughts = false;

  /** Undefined if a text suffices. */
  get list(): readonly BodyFields[] | undefined {
    return this.#hasThoughts ? this.#parts : undefined;
  }

  take(content: unknown): void {
    for (const one of Array.isArray(content) ? content : [content]) {
      const part = typeof one === 'string' ? { type: 'text', text: one } : bodyFields(one);
      if (isThought(part)) {
        this.#hasThoughts = true;
        this.#add(part);
      } else if (textField(part.text) !== undefined) this.#add({ type: 'text', text: part.text });
    }
  }

  #add(part: BodyFields): void {
    const last = this.#parts.at(-1);
    const isNew = last === undefined || last.type !== part.type;
    const into: Part = isNew ? {} : last;
    for (const name of Object.keys(part)) into[name] = name === 'type' ? part.type : grown(into[name], part[name]);
    if (isNew) this.#parts.push(into);
  }
}

export function isThought({ type }: BodyFields): boolean {
  return type === 'thinking' || type === 'reasoning';
}

/** Texts and lists of texts grow; another value is one that comes again. Lists are of our own making. */
function grown(before: unknown, piece: unknown): unknown {
  if (typeof before === 'string' && typeof piece === 'string') return before + piece;
  if (!Array.isArray(piece)) return piece ?? before;
  const list: unknown[] = Array.isArray(before) ? before : [];
  growList(list, piece);
  return list;
}
