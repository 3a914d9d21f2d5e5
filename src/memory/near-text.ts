import { sha256 } from '../core/json.ts';

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
