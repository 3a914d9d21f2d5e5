import { nearHash, nearText } from '../file/near-text.ts';

/**
 * The texts that an invocation read from memory. They are not stored again: otherwise a fact would be saved each time it is read,
 * each time with a source that looks new.
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

  /** True if a text only repeats what was recalled. */
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
