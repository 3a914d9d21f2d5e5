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

/** In a list, a table below its head, a quote and code each line stands for itself; in prose a sentence ends at its mark and a blank. */
function sentencesOf(paragraph: string): string[] {
  const structured = /^\s*(?:[-*+>|]|\d+[.)]|`{3}|~{3})/m.test(paragraph) || /^(?: {4}|\t)/.test(paragraph);
  const head = /^\s*\|.*\n\s*\|[\s:|-]+\n/.exec(paragraph)?.[0] ?? '';
  const pieces = structured
    ? paragraph.slice(head.length).split('\n')
    : paragraph.split(/(?<=[.!?]["'”’)\]]?)\s+(?=\S)|(?<=[。！？])/u);
  return pieces.map((piece) => piece.trim().replace(MARKER, '')).filter((piece) => /[\p{L}\p{N}]/u.test(piece));
}

/** At a blank where there is one, and never within a character. */
function cut(text: string): string {
  const front = text.slice(0, MAX_SENTENCE).replace(/[\ud800-\udbff]$/, '');
  const blank = Math.max(front.lastIndexOf(' '), front.lastIndexOf('\n'));
  return (blank > 0 ? front.slice(0, blank) : front).trim();
}
