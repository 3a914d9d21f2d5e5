import { linesOf } from './paragraphs.ts';

export type Quote = { readonly stands: true; readonly line: number } | { readonly stands: false; readonly why: string };

/**
 * Whether a quote stands in a text, and the line it begins in: `near` if it stands there, else its first. Only line breaks
 * and blanks may differ, since models reflow what they quote.
 */
export function findQuote(text: string, quote: string, near?: number): Quote {
  const words = quote.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return { stands: false, why: 'the quote is empty' };
  const pattern = new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('\\s+'), 'g');
  const lines = linesOf(text).join('\n');
  let line = 1;
  let counted = 0;
  let first: Quote | undefined;
  for (const { index } of lines.matchAll(pattern)) {
    line += lines.slice(counted, index).split('\n').length - 1;
    counted = index;
    first ??= { stands: true, line };
    if (line === near) return { stands: true, line };
  }
  return first ?? { stands: false, why: 'these words do not stand in the file' };
}
