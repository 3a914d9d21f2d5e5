import { type Paragraph, paragraphsOf } from './paragraphs.ts';

export type Quote =
  | { readonly stands: true; readonly line: number; readonly to: number }
  | { readonly stands: false; readonly why: string };

/**
 * Whether a quote stands in a text, and the paragraph it stands in: the one that begins at `near` where it stands there,
 * else the first. Only line breaks and blanks may differ, since models reflow what they quote.
 */
export function findQuote(text: string, quote: string, near?: number): Quote {
  const wanted = reflowed(quote);
  if (wanted === '') return { stands: false, why: 'the quote is empty' };
  const holding = paragraphsOf(text).filter((paragraph) => reflowed(paragraph.text).includes(wanted));
  const found: Paragraph | undefined = holding.find(({ line }) => line === near) ?? holding[0];
  if (found === undefined) return { stands: false, why: 'these words do not stand in the file' };
  return { stands: true, line: found.line, to: found.to };
}

function reflowed(text: string): string {
  return text.split(/\s+/u).filter(Boolean).join(' ');
}
