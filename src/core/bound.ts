/**
 * Keeps front and back of a text and says how much was left out between; cut at code-point borders. At most `max` UTF-16
 * units, the note included where it fits.
 */
export function boundText(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = (left: number) => `\n[… ${left} characters left out …]\n`;
  const room = Math.max(0, max - note(text.length).length);
  const front = codePointBorder(text, Math.ceil(room * 0.75));
  const back = codePointBorder(text, text.length - Math.floor(room * 0.25));
  return text.slice(0, front) + note(back - front) + text.slice(back);
}

/** The border at or before `index` that does not part a surrogate pair. */
function codePointBorder(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const before = text.charCodeAt(index - 1);
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? index - 1 : index;
}
