/** Words that do not show what a question is about. */
const STOP = new Set(
  `a about after all also am an and any are as at be because been before being between both but by can come could did do
  does doing done during each either ever every few find for from further get give given go going had has have having he
  her here hers him his how i if in into is it its itself just know let like made make many may me might more most much
  must my need no nor not now of off on once one only or other our out over own please put said same say says shall she
  should show so some such take tell than that the their them then there these they thing this those through to too
  under until up upon us use used using very want was we were what whats when where whether which while who whom whose
  why will with within without would you your
  aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren wouldn
  always amount big called deep exactly far fast happen happened happens heavy high kind large long mean means name often
  old per sort tall type usually wide
  according describe document documents explain file files folder mention mentioned question say source text work`.split(
    /\s+/,
  ),
);

/** Chinese words without content: a run of Han characters is split at them. */
const HAN_STOP =
  /什么|怎么|怎样|哪里|哪些|哪个|为何|为什么|何时|时候|多少|是否|如何|可以|[的了吗呢吧啊是在和与有谁这那个些及被把何]/gu;
const UNSPACED = /\p{Script=Han}+|\p{Script=Katakana}[\p{Script=Katakana}ー]*|\p{Script=Thai}+/gu;
const UNSPACED_ONLY = /^[\p{Script=Han}\p{Script=Katakana}\p{Script=Thai}ー]+$/u;
const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;

/**
 * The content words of a text, folded so that `Tides`, `tide` and `tidé` are one: lower case, no accents, common English
 * endings off. Scripts without spaces give their characters and the pairs of neighbours; hiragana, which carries the
 * grammar of a Japanese sentence, gives none. In order, each once.
 */
export function termsOf(text: string): string[] {
  const terms = new Set<string>();
  const folded = fold(text);
  for (const run of folded.match(UNSPACED) ?? []) {
    for (const piece of run.split(HAN_STOP)) for (const term of charactersAndPairs(piece)) terms.add(term);
  }
  for (const word of folded.replace(UNSPACED, ' ').match(WORD) ?? []) {
    const bare = word.replace(/['’].*$/u, '');
    if (STOP.has(bare) || /^\p{Script=Hiragana}+$/u.test(bare) || (bare.length < 2 && !/\p{N}/u.test(bare))) continue;
    terms.add(stem(bare));
  }
  return [...terms];
}

/** The terms to search for. If a script without spaces gives pairs, single characters are left out, since they would match anything. */
export function queryTermsOf(question: string): string[] {
  const terms = termsOf(question);
  return terms.some(isPair) ? terms.filter((term) => isPair(term) || !UNSPACED_ONLY.test(term)) : terms;
}

/** The content words of a question, as they were written. */
export function tellingWordsOf(question: string): string[] {
  return (question.match(WORD) ?? []).filter((word) => termsOf(word).length > 0);
}

/** Whether a question is written without spaces, so that its terms are pairs of characters. */
export function isUnspaced(question: string): boolean {
  return termsOf(question).some(isPair);
}

function isPair(term: string): boolean {
  return UNSPACED_ONLY.test(term) && [...term].length === 2;
}

/**
 * The terms of a question that are names or numbers: a text that lacks them is about something else. A capital letter
 * marks a name anywhere but at the start, and nowhere in a question whose words are mostly capitalised.
 */
export function namesOf(question: string): Set<string> {
  const words = question.match(WORD) ?? [];
  const capital = (word: string) => /^\p{Lu}/u.test(word);
  const rest = words.slice(1);
  const shouted = rest.length > 3 && rest.filter(capital).length > rest.length / 2;
  const names = words.filter((word, at) => /\p{N}/u.test(word) || (at > 0 && !shouted && capital(word)));
  return new Set(names.flatMap(termsOf));
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC');
}

function charactersAndPairs(run: string): string[] {
  const characters = [...run];
  return [...characters, ...characters.slice(1).map((character, at) => `${characters[at]}${character}`)];
}

/** A light stemmer: its result need not be a word, only the same letters for all forms of one word. */
function stem(word: string): string {
  if (!/^[a-z]+$/.test(word) || word.length < 4) return word;
  let stem = word
    .replace(/ies$/, 'y')
    .replace(/(x|z|ch|sh|ss)es$/, '$1')
    .replace(/([^su])s$/, '$1');
  for (const ending of [/ing$/, /ed$/]) {
    const cut = stem.replace(ending, '');
    if (cut === stem || cut.length < 3 || !/[aeiouy]/.test(cut)) continue;
    stem = cut.replace(/([^aeiouls])\1$/, '$1');
    break;
  }
  for (const [ending, least] of [
    [/(ation|ate)$/, 4],
    [/ion$/, 5],
    [/(ment|ness|ly)$/, 4],
  ] as const) {
    const cut = stem.replace(ending, '');
    if (cut !== stem && cut.length >= least) stem = cut;
  }
  return stem.length > 3 ? stem.replace(/e$/, '').replace(/y$/, 'i') : stem;
}
