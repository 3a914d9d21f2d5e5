import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namesOf, queryTermsOf, tellingWordsOf, termsOf } from '../../examples/research-team/terms.ts';

test('forms of a word give one term', () => {
  for (const forms of [
    'tide tides Tide TIDE tidé',
    'burn burns burned burning',
    'watch watches watching',
    'carry carries carried',
    'navigate navigation',
  ]) {
    expect(termsOf(forms), forms).toHaveLength(1);
  }
});

test('words that say nothing give none, and what is left is shown as it was written', () => {
  expect(termsOf("What is the name of it, and why don't they say so?")).toEqual([]);
  expect(tellingWordsOf('How do Flamingos vote?')).toEqual(['Flamingos', 'vote']);
});

test('names and numbers are told from other words, but not where all words are capitals', () => {
  expect(namesOf('Who built the Kestrel bridge in 1911?')).toEqual(new Set([...termsOf('Kestrel'), '1911']));
  expect(namesOf('Who Built The Kestrel Bridge')).toEqual(new Set());
  expect(namesOf('Who wrote Emma?')).toEqual(new Set(termsOf('Emma')));
});

test('a query in a script without spaces is pairs of characters, or the character where there is one', () => {
  expect(queryTermsOf('灯塔什么时候点亮？')).toEqual(['灯塔', '点亮']);
  expect(queryTermsOf('猫')).toEqual(['猫']);
  expect(queryTermsOf('น้ำขึ้น').length).toBeGreaterThan(0);
});

test('any text gives distinct terms, the same for any case', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const terms = termsOf(text);
      expect(new Set(terms).size).toBe(terms.length);
      expect(new Set(termsOf(text.normalize('NFD')))).toEqual(new Set(terms));
    }),
  );
});
