import { paragraphsOf } from './paragraphs.ts';
import { evidenceLines } from './passages.ts';

/** `line` is where the quote begins, `from` and `to` are the lines of the paragraph around it. */
export type Quote =
  | { readonly stands: true; readonly line: number; readonly from: number; readonly to: number }
  | { readonly stands: false; readonly why: string };

/**
 * Whether a quote stands in a text, and where: at the line `near` if it stands there, else at its first place. Only line
 * breaks and blanks may differ, since models reflow what they quote.
 */
export function findQuote(text: string, quote: string, near?: number): Quote {
  const words = quote.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return { stands: false, why: 'the quote is empty' };
  const pattern = new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('\\s+'), 'g');
  const places = paragraphsOf(text).flatMap((paragraph) =>
    [...paragraph.text.matchAll(pattern)].map(({ index }) => {
      const line = paragraph.line + paragraph.text.slice(0, index).split('\n').length - 1;
      return { stands: true as const, line, ...evidenceLines(paragraph, line) };
    }),
  );
  const place = places.find(({ line }) => line === near) ?? places[0];
  return place ?? { stands: false, why: 'these words do not stand in the file' };
}
