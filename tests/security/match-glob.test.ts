import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchGlob } from '../../src/security/match-glob.ts';
import { fastest } from '../support/fastest.ts';

/** The meaning, written down without any thought of time. */
function oracle(glob: string, value: string, startsPart = true): boolean {
  if (glob === '') return value === '';
  if (glob[0] !== '*') return value[0] === glob[0] && oracle(glob.slice(1), value.slice(1), glob[0] === '/');
  const stars = /^\*+/.exec(glob)?.[0].length ?? 0;
  const rest = glob.slice(stars);
  const cuts = Array.from({ length: value.length + 1 }, (_, at) => at);
  if (stars === 1) return cuts.some((at) => !value.slice(0, at).includes('/') && oracle(rest, value.slice(at), false));
  if (startsPart && rest[0] === '/') {
    return cuts.some((at) => (at === 0 || value[at - 1] === '/') && oracle(rest.slice(1), value.slice(at), true));
  }
  return cuts.some((at) => oracle(rest, value.slice(at), false));
}

test('it agrees with the naive reading on small inputs', () => {
  const word = (letters: string[], maxLength: number) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(word(['a', 'b', '/', '*', '**', '**/'], 7), word(['a', 'b', '/'], 8), (glob, value) => {
      fc.pre(glob !== '*');
      expect(matchGlob(glob, value)).toBe(oracle(glob, value));
    }),
    { numRuns: 5_000 },
  );
});

test.each<[string, string, boolean]>([
  ['*', 'a/b', true],
  ['*', '', true],
  ['docs/*', 'docs/a', true],
  ['docs/*', 'docs/a/b', false],
  ['docs/**', 'docs/a/b/c', true],
  ['docs/**', 'docs', false],
  ['**/.env*', '.env', true],
  ['**/.env*', 'a/b/.env.local', true],
  ['**/.env*', 'a/x.env', false],
  ['a/**/b', 'a/b', true],
  ['a/**/b', 'a/x/y/b', true],
  ['a/**/b', 'a/xb', false],
  ['a**b', 'a/x/b', true],
  ['a.txt', '*', false],
])('%s on %s is %s', (glob, value, expected) => {
  expect(matchGlob(glob, value)).toBe(expected);
});

test('hostile globs and values take time in proportion', () => {
  const hostile = () => {
    expect(matchGlob(`${'*a'.repeat(40)}b`, 'a'.repeat(20_000))).toBe(false);
    expect(matchGlob(`${'**a'.repeat(40)}b`, 'a/'.repeat(10_000))).toBe(false);
    expect(matchGlob(`${'**/'.repeat(40)}b`, 'a/'.repeat(10_000))).toBe(false);
  };
  expect(fastest(1_000, hostile)).toBeLessThan(1_000);
});
