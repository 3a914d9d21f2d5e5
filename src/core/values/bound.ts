/** Longer texts are not kept to be read again. */
export const LONGEST_KEPT = 4_000_000;

/**
 * Keeps front and back of a text and says how much was left out between; cut at code-point borders. At most `max` UTF-16
 * units, the note included where it fits. `ref` is where the whole can be read again, in which the text begins at `offset`.
 */
export function boundText(text: string, max: number, ref?: string, offset = 0): string {
  if (text.length <= max) return text;
  const kept = text.length <= LONGEST_KEPT ? ref : undefined;
  const room = Math.max(0, max - note(text.length, offset + text.length, kept).length);
  const front = codePointBorder(text, Math.ceil(room * 0.75));
  const back = codePointBorder(text, text.length - Math.floor(room * 0.25));
  return text.slice(0, front) + note(back - front, offset + front, kept) + text.slice(back);
}

function note(left: number, from: number, ref: string | undefined): string {
  const where = ref === undefined ? '' : `: read_result ref=${ref} from=${from}`;
  return `\n[… ${left} characters left out${where} …]\n`;
}

/** The border at or before `index` that does not part a surrogate pair. */
export function codePointBorder(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const before = text.charCodeAt(index - 1);
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? index - 1 : index;
}
