import { queryTermsOf, termsOf } from './terms.ts';

/** Longest claim, in characters. */
const MAX_CLAIM = 400;
const MARKER = /^(?:[-*+>]|\d+[.)])\s+/;
const BY_LINES = /^\s*(?:[>|]|`{3}|~{3})|\n\s*(?:[-*+]|\d+[.)])\s/;
/** A sentence ends at its punctuation mark and a blank; in scripts without blanks, at its mark. */
const BOUNDARIES = { lines: /\n/g, sentences: /(?<=[.!?]["'”’)\]]?)\s+(?=\S)|(?<=[。！？])/gu };

/**
 * The claim that is made from a passage: its text from the beginning to the end of the first sentence that has most of the question's
 * words, verbatim, so that it begins in the passage's first line. In a table, a quote, code and a nested list each line is a sentence.
 */
export function claimText(passage: string, question: string): string {
  const text = passage.trim().replace(MARKER, '');
  const wanted = new Set(queryTermsOf(question));
  const boundaries = BY_LINES.test(passage) ? BOUNDARIES.lines : BOUNDARIES.sentences;
  const ends = [...[...text.matchAll(boundaries)].map(({ index }) => index), text.length];
  let first = 0;
  let best = 0;
  let most = 0;
  ends.forEach((end, at) => {
    const sentence = text.slice(ends[at - 1] ?? 0, end);
    if (first === 0 && /[\p{L}\p{N}]/u.test(sentence)) first = end;
    const has = termsOf(sentence).filter((term) => wanted.has(term)).length;
    if (has > most) [best, most] = [end, has];
  });
  return truncated(text.slice(0, best === 0 || best > MAX_CLAIM ? first : best));
}

/** Truncates at a blank if there is one, and never within a character. */
function truncated(text: string): string {
  if (text.length <= MAX_CLAIM) return text;
  const front = text.slice(0, MAX_CLAIM).replace(/[\ud800-\udbff]$/, '');
  const blank = Math.max(front.lastIndexOf(' '), front.lastIndexOf('\n'));
  return (blank > 0 ? front.slice(0, blank) : front).trim();
}
