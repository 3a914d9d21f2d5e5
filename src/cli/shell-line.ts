import { visible } from './visible.ts';

/** Words as a line for a POSIX shell, ready to paste; invisible characters are escaped. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

function quoted(word: string): string {
  const shown = visible(word);
  return /^[\w.,/:@~+=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
