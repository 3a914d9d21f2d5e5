import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linesOf, paragraphsOf } from '../../examples/research-team/paragraphs.ts';
import { fastest } from '../support/fastest.ts';

const shown = (text: string) =>
  paragraphsOf(text).map(({ text, line, to, headings }) => [line, to, headings.join('>'), text]);

test('a paragraph is a run of lines, with its first and last line', () => {
  expect(shown('one\ntwo\n\n\nthree')).toEqual([
    [1, 2, '', 'one\ntwo'],
    [5, 5, '', 'three'],
  ]);
});

test('carriage returns belong to the ends of lines', () => {
  expect(shown('# A\r\n\r\none\r\ntwo\r\n\r\nthree\r\n')).toEqual([
    [3, 4, 'A', 'one\ntwo'],
    [6, 6, 'A', 'three'],
  ]);
});

test('headings of both kinds nest by level, with or without a blank line around them', () => {
  const text =
    'Top\n===\none\n## Under ##\ntwo\n### Deep\nthree\nNext\n---\n\nSide\n----\nfour\n#no heading\n# Top 2\nfive';
  expect(shown(text)).toEqual([
    [3, 3, 'Top', 'one'],
    [5, 5, 'Top>Under', 'two'],
    [7, 9, 'Top>Under>Deep', 'three\nNext\n---'],
    [13, 14, 'Top>Side', 'four\n#no heading'],
    [16, 16, 'Top 2', 'five'],
  ]);
});

test('a fenced block is one paragraph with its blank lines, and its hashes are no headings', () => {
  expect(shown('Run:\n```sh\n# a comment\n\nmake\n```\nafter')).toEqual([
    [1, 1, '', 'Run:'],
    [2, 6, '', '```sh\n# a comment\n\nmake\n```'],
    [7, 7, '', 'after'],
  ]);
});

test('an unclosed fence swallows nothing', () => {
  expect(shown('```\n\none\n\ntwo').map(([line]) => line)).toEqual([3, 5]);
});

test('front matter is no heading, and a list under a rule is none either', () => {
  expect(shown('---\ntitle: X\n---\n\n- a\n---\n- b')).toEqual([
    [2, 2, '', 'title: X'],
    [5, 7, '', '- a\n---\n- b'],
  ]);
});

test('every paragraph is the lines it names, in order, whatever the text', () => {
  const line = fc.constantFrom(
    '',
    ' ',
    '# h',
    '## h ##',
    '===',
    '---',
    '```',
    '~~~~',
    '- item',
    '> quote',
    'word',
    '\tcode',
    '|a|',
  );
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, end) => {
      const text = lines.join(end);
      let last = 0;
      for (const paragraph of paragraphsOf(text)) {
        expect(paragraph.line).toBeGreaterThan(last);
        expect(paragraph.text).toBe(
          linesOf(text)
            .slice(paragraph.line - 1, paragraph.to)
            .join('\n'),
        );
        last = paragraph.to;
      }
    }),
  );
});

test('two megabytes of fences, hashes or blanks are read in time that grows with their size', () => {
  for (const line of ['```js\n', '# # # #\n', `# ${' '.repeat(500)}x\n`]) {
    const text = line.repeat(2_000_000 / line.length);
    expect(fastest(2_000, () => paragraphsOf(text))).toBeLessThan(2_000);
  }
  const blanks = `# ${' '.repeat(2_000_000)}x`;
  expect(fastest(1_000, () => paragraphsOf(blanks))).toBeLessThan(1_000);
});
