import { isPlainObject, type Json } from './json.ts';
import { pointerStep } from './json-pointer.ts';

/** Texts shorter than this stay whole: a source, a date, a quote. */
const LEAST_TEXT = 200;
/** Deeper values are left as they are. */
const DEEPEST = 100;

/**
 * A JSON text of at most `max` characters, bounded by field and never in the middle of one: the longest texts lose their
 * middle first, all down to the same length, then long lists do. Each says what it lost, and with a `ref` where that is:
 * `<ref>#<JSON Pointer>`. Undefined where that does not do.
 */
export function boundJson(text: string, max: number, ref?: string): string | undefined {
  const value = parsed(text);
  if (value === undefined || text.length <= max) return value === undefined ? undefined : text;
  const lengths: number[] = [];
  const rest = text.length - measure(value, lengths, 0);
  let most = fairShare(lengths, max - rest);
  for (let round = 0; round < 8 && most >= LEAST_TEXT; round += 1) {
    const bounded = JSON.stringify(truncate(value, '', { most, items: Number.POSITIVE_INFINITY, ref }, 0));
    if (bounded.length <= max) return bounded;
    most = Math.floor(most * Math.min(0.95, max / bounded.length));
  }
  return boundLists(value, max, ref);
}

/** What was taken out of it may have left no JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Texts as short as may be; as many items of each list as fit. */
function boundLists(value: Json, max: number, ref: string | undefined): string | undefined {
  let fitting: string | undefined;
  let [low, high] = [2, max];
  while (low <= high) {
    const items = Math.floor((low + high) / 2);
    const bounded = JSON.stringify(truncate(value, '', { most: LEAST_TEXT, items, ref }, 0));
    if (bounded.length <= max) {
      fitting = bounded;
      low = items + 1;
    } else high = items - 1;
  }
  return fitting;
}

/** Notes the lengths of all texts; gives their sum. */
function measure(value: Json, lengths: number[], depth: number): number {
  if (typeof value === 'string') {
    lengths.push(value.length);
    return value.length;
  }
  if (value === null || typeof value !== 'object' || depth > DEEPEST) return 0;
  let sum = 0;
  for (const item of Array.isArray(value) ? value : Object.values(value)) sum += measure(item, lengths, depth + 1);
  return sum;
}

/** The length to which the longest must be truncated so that all together fit into `room`. */
function fairShare(lengths: number[], room: number): number {
  lengths.sort((a, b) => a - b);
  let left = room;
  for (const [index, length] of lengths.entries()) {
    const share = Math.floor(left / (lengths.length - index));
    if (length > share) return share;
    left -= length;
  }
  return lengths.at(-1) ?? 0;
}

interface Bounds {
  readonly most: number;
  readonly items: number;
  readonly ref: string | undefined;
}

function truncate(value: Json, pointer: string, bounds: Bounds, depth: number): Json {
  const { most, items, ref } = bounds;
  const at = ref && `${ref}#${pointer}`;
  if (typeof value === 'string') return boundText(value, most, at);
  if (value === null || typeof value !== 'object' || depth > DEEPEST) return value;
  const inner = (item: Json, key: string | number) => truncate(item, pointer + pointerStep(key), bounds, depth + 1);
  if (!Array.isArray(value)) {
    if (!isPlainObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item as Json, key)]));
  }
  // A note in the place of one item would gain nothing.
  if (value.length <= items + 1) return value.map(inner);
  const front = Math.ceil(items * 0.75);
  const back = value.length - (items - front);
  const where = at === undefined ? '' : `: read_result ref=${at}`;
  const left = `[… ${back - front} items left out${where} …]`;
  return [
    ...value.slice(0, front).map(inner),
    left,
    ...value.slice(back).map((item: Json, index) => inner(item, back + index)),
  ];
}

/** Longer texts are not stored to be read again. In UTF-16 units. */
export const MAX_STORED_CHARS = 4_000_000;

/**
 * Keeps front and back of a text and says how much was left out between; truncated at code-point boundaries. At most `max` UTF-16
 * units, the note included where it fits. `ref` is where the whole can be read again, in which the text begins at `offset`.
 */
export function boundText(text: string, max: number, ref?: string, offset = 0): string {
  if (text.length <= max) return text;
  const stored = text.length <= MAX_STORED_CHARS ? ref : undefined;
  const room = Math.max(0, max - note(text.length, offset + text.length, stored).length);
  const front = codePointBoundary(text, Math.ceil(room * 0.75));
  const back = codePointBoundary(text, text.length - Math.floor(room * 0.25));
  return text.slice(0, front) + note(back - front, offset + front, stored) + text.slice(back);
}

function note(left: number, from: number, ref: string | undefined): string {
  const where = ref === undefined ? '' : `: read_result ref=${ref} from=${from}`;
  return `\n[… ${left} characters left out${where} …]\n`;
}

/** The code-point boundary at or before `index` that does not part a surrogate pair. */
export function codePointBoundary(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const before = text.charCodeAt(index - 1);
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? index - 1 : index;
}
