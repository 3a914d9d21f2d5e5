import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linesOf } from '../../examples/research-team/paragraphs.ts';
import { passagesOf } from '../../examples/research-team/passages.ts';

const shown = (text: string) =>
  passagesOf(text).map(({ text, line, headings, lead, byWords }) => [line, headings.join('>'), lead, byWords, text]);

test('a list is a passage by its headings, and each of its items one by its words, with what is indented below it', () => {
  const list = '- tea\n  from Ann\n  - hot\n- salt';
  expect(shown(`# H\n\nYou need:\n\n${list}`)).toEqual([
    [3, 'H', '', true, 'You need:'],
    [5, 'H', 'You need:', false, list],
    [5, 'H', 'You need:', true, '- tea\n  from Ann\n  - hot'],
    [8, 'H', 'You need:', true, '- salt'],
  ]);
});

test('a table is a passage by the names of its columns, and each of its rows one by its words', () => {
  const table = '| a | b |\n| --- | :-: |\n| 1 | 2 |\n| 3 | 4 |';
  expect(shown(table)).toEqual([
    [1, '', '| a | b |', false, table],
    [3, '', '| a | b |', true, '| 1 | 2 |'],
    [4, '', '| a | b |', true, '| 3 | 4 |'],
  ]);
});

test('every passage is the lines it names, whatever the text', () => {
  const line = fc.constantFrom('', '# h', '- item', '  - sub', '1. one', '| a |', '| - |', 'word:', '```', '> - q');
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n');
      for (const passage of passagesOf(text)) {
        expect(passage.text).toBe(
          linesOf(text)
            .slice(passage.line - 1, passage.to)
            .join('\n'),
        );
      }
    }),
  );
});
