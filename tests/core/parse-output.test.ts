import { expect, test } from 'vitest';
import { z } from 'zod';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { parseOutput } from '../../src/core/schema/parse-output.ts';
import { fastest } from '../support/fastest.ts';

const ANSWER = compileSchema(z.object({ answer: z.string() }), 'output');
const TEXT = compileSchema(z.string(), 'output');

test.each([
  ['as the whole text', '{"answer":"42"}'],
  ['in a fence', '```json\n{"answer":"42"}\n```'],
  ['in a fence amid prose', 'Here:\n```\n{"answer":"42"}\n```\nDone.'],
  ['in prose', 'The answer is {"answer":"42"} as asked.'],
  ['after other brackets', 'As [1] and {this} say, see { : {"answer":"42"}'],
  ['in the second fence', '```js\nlet a\n```\n```json\n{"answer":"42"}\n```'],
])('an object %s is found', (_, text) => {
  expect(parseOutput(text, ANSWER)).toEqual({ ok: true, value: { answer: '42' } });
});

test('an array is found too', () => {
  expect(parseOutput('Those: ["a", "b"].', compileSchema(z.array(z.string()), 'output'))).toEqual({
    ok: true,
    value: ['a', 'b'],
  });
});

test('what does not fit says why', () => {
  expect(parseOutput('{"answer":42}', ANSWER)).toEqual({
    ok: false,
    message: '$.answer: expected string, got 42 (number)',
  });
  expect(parseOutput('so {"answer":42}', ANSWER)).toMatchObject({ message: /answer: expected string/ });
  expect(parseOutput('no json', ANSWER)).toMatchObject({ ok: false, message: /holds no JSON/ });
  expect(parseOutput('', ANSWER)).toMatchObject({ ok: false, message: /the text is empty/ });
});

test('text counts where the schema takes a string', () => {
  for (const text of ['Hello.', '42', '{"a":1}', 'see ["x"]', '```\n"x"\n```', '']) {
    expect(parseOutput(text, TEXT)).toEqual({ ok: true, value: text });
  }
  expect(parseOutput('"quoted"', TEXT)).toEqual({ ok: true, value: 'quoted' });
  expect(parseOutput(' yes\n', compileSchema(z.enum(['yes', 'no']), 'output'))).toEqual({ ok: true, value: 'yes' });
  expect(parseOutput('maybe', compileSchema(z.union([z.string(), z.object({})]), 'output')).ok).toBe(true);
});

test('the value is frozen', () => {
  const parsed = parseOutput('{"answer":"42"}', ANSWER);
  expect(parsed.ok && Object.isFrozen(parsed.value)).toBe(true);
});

test.each(['{', '[', '{"', '{"a":', '```', '```\n', '\\"{', '{}', '[0]{'])(
  'a megabyte of %s takes linear time',
  (part) => {
    const text = part.repeat(1_000_000 / part.length);
    expect(fastest(1_500, () => parseOutput(text, ANSWER))).toBeLessThan(1_500);
  },
);
