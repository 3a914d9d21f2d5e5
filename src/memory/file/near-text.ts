import { sha256 } from '../../core/values/json.ts';

/**
 * A text as duplicates are compared: without case, articles, blanks and the punctuation of sentences. Negations, numbers
 * with their signs and units, and the order of words stay: they are what a changed fact differs in.
 */
export function nearText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[.,;:!?"“”„‘’'«»()…]+(?=\s|$)/gu, ' ')
    .replace(/(^|\s)[“”„‘’"'«»(¿¡]+/gu, '$1')
    .replace(/(^|\s)(the|an?)(?=\s)/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** Equal for texts that are duplicates: 32 hex digits. */
export function nearHash(text: string): string {
  return sha256(nearText(text)).slice(0, 32);
}

/** Words without meaning of their own. */
const FILLERS = new Set(['please', 'also', 'just', 'really', 'note', 'remember', 'that']);
const NEGATION = /^(not|no|nor|never|none|without|cannot|.*n['’]t)$/u;
/** With fewer words the order carries most of the meaning. */
const MOVABLE = 5;

/**
 * Whether two texts may say the same in other words: they differ in fillers and plurals, or in the position of one part ("On Mondays
 * it is reset", "It is reset on Mondays"). Another word, number, sign, name or tense, or another order of them, is another fact,
 * however alike the vectors are.
 */
export function mayBeReworded(one: string, other: string): boolean {
  const [a, b] = [comparedWords(one), comparedWords(other)];
  if (a.length !== b.length || a.length === 0) return false;
  const isMovable = a.length >= MOVABLE && !a.some((word) => NEGATION.test(word));
  const shifts = isMovable ? a.length : 1;
  for (let shift = 0; shift < shifts; shift++) {
    if (b.every((word, index) => word === a[(index + shift) % a.length])) return true;
  }
  return false;
}

function comparedWords(text: string): string[] {
  const words = nearText(text)
    .split(' ')
    .filter((word) => word !== '' && !FILLERS.has(word));
  return words.map((word) => (/^\p{L}{3,}[^\P{L}su]s$/u.test(word) ? word.slice(0, -1) : word));
}
