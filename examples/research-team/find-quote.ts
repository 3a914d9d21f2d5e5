import { linesOf } from './paragraphs.ts';

export type Quote =
  | { readonly verified: true; readonly line: number }
  | { readonly verified: false; readonly why: string };

/**
 * Whether a text contains a quote, and the line in which the quote begins: the line `near` if it begins there, else the first one.
 * Only line breaks and blanks may differ, since models reflow what they quote.
 */
export function findQuote(text: string, quote: string, near?: number): Quote {
  const words = quote.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return { verified: false, why: 'the quote is empty' };
  const pattern = new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('\\s+'), 'g');
  const lines = linesOf(text).join('\n');
  let line = 1;
  let counted = 0;
  let first: Quote | undefined;
  for (const { index } of lines.matchAll(pattern)) {
    line += lines.slice(counted, index).split('\n').length - 1;
    counted = index;
    first ??= { verified: true, line };
    if (line === near) return { verified: true, line };
  }
  return first ?? { verified: false, why: 'the file does not contain these words' };
}
