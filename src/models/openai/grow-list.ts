import { type Fields, fieldsOf, textField } from '../failure/fields.ts';

/** Kinds of parts that are streamed in pieces. */
const STREAMED: ReadonlySet<unknown> = new Set(['text', 'reasoning.text', 'reasoning.summary']);
/** Their fields that grow; another is a value that comes once, or again. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary']);

/** Adds what a chunk has of a list: a piece of the part that stands last goes on with it, all else is a part of its own. `list` is changed. */
export function growList(list: unknown[], pieces: readonly unknown[]): void {
  for (const piece of pieces) {
    const [last, next] = [fieldsOf(list.at(-1)), fieldsOf(piece)];
    if (goesOn(last, next)) list[list.length - 1] = grown(last, next);
    else list.push(piece);
  }
}

/** A signature ends what it signs. */
function goesOn(last: Fields, next: Fields): boolean {
  if (last.type !== next.type || last.index !== next.index || !STREAMED.has(next.type)) return false;
  return textField(last.signature) === undefined || textField(next.text) === undefined;
}

function grown(last: Fields, next: Fields): Fields {
  const part: { [field: string]: unknown } = { ...last };
  for (const [name, value] of Object.entries(next)) {
    const before = part[name];
    const grows = GROWING.has(name) && typeof before === 'string' && typeof value === 'string';
    part[name] = grows ? before + value : (value ?? before);
  }
  return part;
}
