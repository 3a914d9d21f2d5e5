import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addNeighbourScores } from '../../src/memory/search/search-file.ts';
import { WordScores } from '../../src/memory/search/word-scores.ts';

it('an entry gains a share of what the entries beside it of the same source score by themselves', () => {
  const entry = fc.record({
    source: fc.integer({ min: 1, max: 3 }),
    own: fc.constantFrom(0, 0, 0.5, 1, 2),
    isCurrent: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), fc.double({ min: 0, max: 1, noNaN: true }), (entries, share) => {
      const words = new WordScores();
      words.clear(entries.length);
      entries.forEach(({ own }, number) => {
        if (own > 0) words.add(number, own);
      });
      const current = entries.flatMap(({ isCurrent }, number) => (isCurrent ? number : []));
      const sources = Uint32Array.from(entries, ({ source }) => source);
      addNeighbourScores(words, Uint32Array.from(current), sources, share);
      entries.forEach(({ own, source }, number) => {
        const beside = current.filter((one) => entries[one]?.source === source);
        const at = beside.indexOf(number);
        const gained =
          at < 0
            ? 0
            : [beside[at - 1], beside[at + 1]].reduce<number>((sum, one) => sum + (entries[one ?? -1]?.own ?? 0), 0);
        expect(words.sums[number]).toBeCloseTo(own + share * gained, 9);
      });
      expect(new Set(words.numbers).size).toBe(words.numbers.length);
    }),
  );
});
