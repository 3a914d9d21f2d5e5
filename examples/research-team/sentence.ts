import { queryTermsOf, termsOf } from './terms.ts';

/** Longest claim, in characters. */
const MAX_SENTENCE = 400;
const MARKER = /^(?:[-*+>]|\d+[.)])\s+/;

/** The sentence of a paragraph that has most of the question's words, the first among equals; verbatim. */
export function tellingSentence(paragraph: string, question: string): string {
  const wanted = new Set(queryTermsOf(question));
  let best = '';
  let most = -1;
  for (const sentence of sentencesOf(paragraph)) {
    const has = termsOf(sentence).filter((term) => wanted.has(term)).length;
    if (has > most) [best, most] = [sentence, has];
  }
  return best.length <= MAX_SENTENCE ? best : cut(best);
}

/** In a table, a quote, code and a list within a list each line stands for itself; else a sentence ends at its mark and a blank. */
function sentencesOf(passage: string): string[] {
  const text = passage.trim().replace(MARKER, '');
  const structured = /^\s*(?:>|\||`{3}|~{3})/.test(passage) || /\n\s*(?:[-*+]|\d+[.)])\s/.test(text);
  const pieces = text.split(structured ? '\n' : /(?<=[.!?]["'”’)\]]?)\s+(?=\S)|(?<=[。！？])/u);
  return pieces.map((piece) => piece.trim().replace(MARKER, '')).filter((piece) => /[\p{L}\p{N}]/u.test(piece));
}

/** At a blank where there is one, and never within a character. */
function cut(text: string): string {
  const front = text.slice(0, MAX_SENTENCE).replace(/[\ud800-\udbff]$/, '');
  const blank = Math.max(front.lastIndexOf(' '), front.lastIndexOf('\n'));
  return (blank > 0 ? front.slice(0, blank) : front).trim();
}
