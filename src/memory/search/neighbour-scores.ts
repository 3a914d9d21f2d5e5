import type { WordScores } from './word-scores.ts';

/**
 * Gives each entry a share of the scores of the entries before and after it from the same source. `numbers` are the current
 * entries in the order in which they were added, `sources` the sources' numbers by entry.
 */
export function addNeighbourScores(words: WordScores, numbers: Uint32Array, sources: Uint32Array, share: number): void {
  const { sums } = words;
  /** By source: the last entry, and what the one before it had. */
  const last = new Map<number, { number: number; own: number; before: number }>();
  const gain = (number: number, beside: number) => {
    if (beside > 0) words.add(number, share * beside);
  };
  for (const number of numbers) {
    const source = sources[number] ?? 0;
    // Not raised yet: what an entry gains is a share of its neighbours' own scores.
    const own = sums[number] ?? 0;
    const one = last.get(source);
    if (one === undefined) last.set(source, { number, own, before: 0 });
    else {
      gain(one.number, one.before + own);
      one.before = one.own;
      one.number = number;
      one.own = own;
    }
  }
  for (const { number, before } of last.values()) gain(number, before);
}
