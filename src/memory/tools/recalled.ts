import { nearHash, nearText } from '../file/near-text.ts';

/**
 * What an invocation was shown from memory. It is not stored again: a fact that is saved each time it is read stands in the
 * store a hundred times, each time with a source that looks new.
 */
export class Recalled {
  /** Whole texts and their sentences, as hashes. */
  readonly #hashes = new Set<string>();
  readonly #texts = new Set<string>();

  /** The texts that were shown. */
  get texts(): string[] {
    return [...this.#texts];
  }

  mark(text: string): void {
    this.#texts.add(text);
    this.#hashes.add(nearHash(text));
    for (const sentence of sentencesOf(text)) this.#hashes.add(nearHash(sentence));
  }

  /** True where a text says nothing but what was recalled. */
  has(text: string): boolean {
    if (this.#hashes.size === 0) return false;
    if (this.#hashes.has(nearHash(text))) return true;
    const sentences = sentencesOf(text);
    return sentences.length > 0 && sentences.every((sentence) => this.#hashes.has(nearHash(sentence)));
  }
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?。！？])\s+|\n+/u).filter((sentence) => nearText(sentence) !== '');
}
