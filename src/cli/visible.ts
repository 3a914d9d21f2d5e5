// C0 and C1 controls, what is laid out but not seen (bidi marks, zero widths, tags), line separators, halves of characters.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
// What belongs to a text of several lines, and the joiners without which emoji and some scripts fall apart.
const LAYOUT: ReadonlySet<string> = new Set(['\n', '\t', '\u200c', '\u200d', '\ufe0f']);

/** A text that cannot control a terminal: it cannot move the cursor, colour, or hide text. Line ends and tabs are escaped too. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** Like {@link visible}, for a text of several lines: line ends, tabs and the joiners of emoji stay. */
export function visibleLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (mark) => (LAYOUT.has(mark) ? mark : escaped(mark)));
}

/** One line of at most `max` characters: whitespace becomes single spaces, invisible characters are escaped. */
export function firstWords(text: string, max = 80): string {
  // Reads only as much as can be shown: a result may have megabytes.
  const line = text
    .slice(0, max * 4)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  const isTruncated = characters.length > max || text.length > max * 4;
  return visible(isTruncated ? `${characters.slice(0, max).join('')}…` : line);
}

function escaped(mark: string): string {
  switch (mark) {
    case '\n':
      return '\\n';
    case '\r':
      return '\\r';
    case '\t':
      return '\\t';
  }
  const code = mark.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Words as a line for a POSIX shell, ready to paste; invisible characters are escaped. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

function quoted(word: string): string {
  const shown = visible(word);
  return /^[\w.,/:@~+=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** Writes a line to stderr, with control characters escaped. */
export function report(text: string): void {
  process.stderr.write(`${visibleLines(text)}\n`);
}
