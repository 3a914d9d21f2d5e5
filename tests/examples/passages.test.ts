import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linesOf } from '../../examples/research-team/paragraphs.ts';
import { passagesOf } from '../../examples/research-team/passages.ts';

const shown = (text: string) => passagesOf(text).map(({ text, line, headings }) => [line, headings.join('>'), text]);

test('each item of a list is a passage, with what is indented below it', () => {
  expect(shown('# H\n\nYou need:\n\n- tea\n  from Ann\n  - hot\n- salt')).toEqual([
    [3, 'H', 'You need:'],
    [5, 'H>You need:', '- tea\n  from Ann\n  - hot'],
    [8, 'H>You need:', '- salt'],
  ]);
});

test('each row of a table is a passage under the names of the columns', () => {
  expect(shown('| a | b |\n| --- | :-: |\n| 1 | 2 |\n| 3 | 4 |')).toEqual([
    [3, '| a | b |', '| 1 | 2 |'],
    [4, '| a | b |', '| 3 | 4 |'],
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
