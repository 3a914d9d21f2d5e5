/** Longer terms are truncated, so that a pasted blob does not become one key. In UTF-16 code units. */
const MAX_TERM = 64;

const WORD = /[\p{L}\p{N}_][\p{L}\p{N}\p{M}_]*/gu;
/** Scripts that put no space between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々][\p{M}]*/gu;
const PIECE = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;

/** English stop words: a query leaves them out if it has other words. Other languages need none, since rare words weigh more. */
const STOP_WORDS = new Set(
  `a about an and any are as at be been but by can could did do does for from had has have how i if in is it its me my of on or our
  should so that the their them then there these they this to us was we were what when where which who why will with would you
  your`.split(/\s+/),
);

/** The distinct terms of a query, without stop words unless there are no others. */
export function queryTerms(query: string): string[] {
  const withoutStopWords = query
    .normalize('NFKC')
    .replace(/(?<![\p{L}\p{N}\p{M}_])[a-z]+(?![\p{L}\p{N}\p{M}_])/giu, (word) =>
      STOP_WORDS.has(word.toLowerCase()) ? ' ' : word,
    );
  const terms = termsOf(withoutStopWords, 'query');
  return [...new Set(terms.length > 0 ? terms : termsOf(query, 'query'))];
}

/**
 * The terms of a text, for the index or for a query. Letters lose case and accents; English endings are stripped; an identifier
 * (`parseHttpHeader`, `max_tokens`) also gives its pieces; scripts without spaces give pairs of characters, and for the index
 * single ones too, so that a query of one character finds something.
 */
export function termsOf(text: string, side: 'index' | 'query'): string[] {
  const terms: string[] = [];
  for (const [word] of text.normalize('NFKC').matchAll(WORD)) {
    const unspaced = word.match(UNSPACED);
    if (unspaced === null) spacedTerms(word, terms);
    else {
      for (const rest of word.split(UNSPACED)) if (rest !== '') spacedTerms(rest, terms);
      pairTerms(unspaced, side, terms);
    }
  }
  return terms;
}

function spacedTerms(word: string, terms: string[]): void {
  const folded = plain(word);
  if (/^_*$/.test(folded)) return;
  terms.push(stem(folded).slice(0, MAX_TERM).toWellFormed());
  const pieces = /[_A-Z0-9]/.test(word) ? word.match(PIECE) : null;
  if (pieces === null || pieces.length < 2 || pieces.length > 16) return;
  for (const piece of pieces) terms.push(stem(piece.toLowerCase()).slice(0, MAX_TERM));
}

function pairTerms(chars: readonly string[], side: 'index' | 'query', terms: string[]): void {
  const folded = chars.map(plain);
  for (const [index, char] of folded.entries()) {
    if (side === 'index' || folded.length === 1) terms.push(char);
    const next = folded[index + 1];
    if (next !== undefined) terms.push(char + next);
  }
}

function plain(word: string): string {
  return word
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}

/** Strips the commonest English endings; crude, but equal for index and query. */
function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  let root = word;
  if (/[^su]s$/.test(root)) root = root.slice(0, -1);
  const stripped = root.replace(/(ing|ed)$/, '');
  if (stripped !== root && stripped.length >= 3 && /[aeiouy]/.test(stripped))
    root = stripped.replace(/([^aeiouls])\1$/, '$1');
  return root.length > 4 && root.endsWith('e') ? root.slice(0, -1) : root;
}
