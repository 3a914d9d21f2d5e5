import type { PostingList } from './postings.ts';

/** How a count weighs in an entry of a length: count ÷ (count + base + slope × length). */
export interface Saturation {
  readonly base: number;
  readonly slope: number;
  /** Terms of each entry, by row number. */
  readonly lengths: Uint32Array;
}

/** Which entries count; all where there is none. */
export interface Allowed {
  readonly numbers: readonly number[];
  has(number: number): boolean;
}

/** Scores by row number. Valid until the next search. */
export class WordScores {
  /** Before scaling; 0 where there is none. */
  #sums = new Float64Array(1_024);
  /** Rows that have a score. */
  #scored = new Uint32Array(1_024);
  #count = 0;
  /** What makes a sum a score. */
  scale = 1;

  get numbers(): Uint32Array {
    return this.#scored.subarray(0, this.#count);
  }

  /** Scores before they are scaled, by row number. */
  get sums(): Float64Array {
    return this.#sums;
  }

  get(number: number): number {
    return (this.#sums[number] ?? 0) * this.scale;
  }

  /** Adds to a sum that {@link scale} makes a score. */
  add(number: number, sum: number): void {
    const before = this.#sums[number] as number;
    if (before === 0) {
      this.#scored[this.#count] = number;
      this.#count += 1;
    }
    this.#sums[number] = before + sum;
  }

  /** Adds what one term gives: `most` × its saturated count in each entry. */
  addTerm({ numbers, counts, size }: PostingList, most: number, saturation: Saturation, allowed?: Allowed): void {
    const { base, slope, lengths } = saturation;
    const sums = this.#sums;
    const scored = this.#scored;
    let last = this.#count;
    for (let at = 0; at < size; at++) {
      const number = numbers[at] as number;
      if (allowed !== undefined && !allowed.has(number)) continue;
      const count = counts[at] as number;
      const before = sums[number] as number;
      if (before === 0) {
        scored[last] = number;
        last += 1;
      }
      sums[number] = before + (most * count) / (count + base + slope * (lengths[number] as number));
    }
    this.#count = last;
  }

  /** Empty, with room for rows up to this one. */
  clear(last: number): void {
    if (last >= this.#sums.length) {
      this.#sums = new Float64Array(Math.ceil((last + 1) * 1.5));
      this.#scored = new Uint32Array(this.#sums.length);
    } else {
      const { numbers } = this;
      for (let at = 0; at < numbers.length; at++) this.#sums[numbers[at] as number] = 0;
    }
    this.#count = 0;
  }
}
