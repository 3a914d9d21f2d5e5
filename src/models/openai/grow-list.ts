import { type BodyFields, bodyFields, textField } from '../failure/fields.ts';

/** Kinds of parts that are streamed in pieces. */
const STREAMED: ReadonlySet<unknown> = new Set(['text', 'reasoning.text', 'reasoning.summary']);
/** Their fields that grow; another is a value that comes once, or again. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary']);

/** Adds a chunk's entries to a list: a piece of the last part extends it, any other entry is a new part. Changes `list`. */
export function growList(list: unknown[], pieces: readonly unknown[]): void {
  for (const piece of pieces) {
    const [last, next] = [bodyFields(list.at(-1)), bodyFields(piece)];
    if (goesOn(last, next)) list[list.length - 1] = grown(last, next);
    else list.push(piece);
  }
}

/** A signature ends what it signs. */
function goesOn(last: BodyFields, next: BodyFields): boolean {
  if (last.type !== next.type || last.index !== next.index || !STREAMED.has(next.type)) return false;
  return textField(last.signature) === undefined || textField(next.text) === undefined;
}

function grown(last: BodyFields, next: BodyFields): BodyFields {
  const part: { [field: string]: unknown } = { ...last };
  for (const [name, value] of Object.entries(next)) {
    const before = part[name];
    const grows = GROWING.has(name) && typeof before === 'string' && typeof value === 'string';
    part[name] = grows ? before + value : (value ?? before);
  }
  return part;
}
