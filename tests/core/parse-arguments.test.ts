import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { parseArguments } from '../../src/core/schema/parse-arguments.ts';
import { fastest } from '../support/fastest.ts';

const OPEN = compileSchema({ type: 'object' }, 'input');
const PUMP = compileSchema(z.object({ unit: z.string(), rate: z.number() }), 'input');

function messageOf(raw: string, schema = OPEN): string {
  const parsed = parseArguments(raw, schema);
  return parsed.ok ? 'ok' : `${parsed.kind}: ${parsed.message}`;
}

test('nothing, blanks and null are an empty object', () => {
  for (const raw of ['', '  \n', 'null', ' null ', '{}'])
    expect(parseArguments(raw, OPEN)).toEqual({ ok: true, value: {} });
});

test('the value is frozen all through and holds the schema’s output', () => {
  const parsed = parseArguments('{"unit":"east","rate":7}', PUMP);
  expect(parsed).toEqual({ ok: true, value: { unit: 'east', rate: 7 } });
  const nested = parseArguments('{"a":{"b":[{}]}}', OPEN);
  expect(nested.ok && Object.isFrozen((nested.value.a as { b: unknown[] }).b[0])).toBe(true);
});

test.each([
  ['encoded twice', '"{\\"unit\\":\\"east\\",\\"rate\\":7}"'],
  ['in a fence', '```json\n{"unit":"east","rate":7}\n```'],
  ['before an end tag', '{"unit":"east","rate":7}\n</tool_call>'],
  ['before an end marker', '{"unit":"east","rate":7}<|tool_call_end|>'],
])('a whole object %s is taken', (_, raw) => {
  expect(parseArguments(raw, PUMP)).toEqual({ ok: true, value: { unit: 'east', rate: 7 } });
});

test.each([
  ['cut before its last brace', '{"unit":"east","rate":7'],
  ['twice in a row', '{"unit":"east","rate":7}{"unit":"east","rate":7}'],
  ['followed by another', '{"unit":"east","rate":7} {"unit":"west","rate":7}'],
  ['after a byte-order mark', '\ufeff{"unit":"east","rate":7}'],
  ['with a comment', '{"unit":"east","rate":7/*x*/}'],
  ['cut and tagged', '{"unit":"east","rate":7\n</tool_call>'],
  ['encoded three times', JSON.stringify(JSON.stringify(JSON.stringify({ unit: 'east', rate: 7 })))],
])('an object %s never runs', (_, raw) => {
  expect(parseArguments(raw, PUMP).ok).toBe(false);
});

test('broken JSON names the place and the required properties', () => {
  expect(messageOf('{"unit": "east",\n "rate": x7}', PUMP)).toMatch(
    /^invalid_json: .*line 2, column 10 \(position 26\).*x7.*Required properties: unit, rate\.$/,
  );
  expect(messageOf('{"unit":"east","rate":7', PUMP)).toMatch(
    /ends too early.*\\"rate\\":7.*Required properties: unit, rate\.$/,
  );
});

test.each([
  ['{"id": 2512292042121000001}', '$.id'],
  ['{"id": 9007199254740993}', '$.id'],
  ['{"l": [1, 1e400]}', '$.l[1]'],
  ['{"n": -9007199254740992}', '$.n'],
  ['{"n": 1e21}', '$.n'],
])('%s is refused, not rounded', (raw, path) => {
  expect(messageOf(raw)).toContain(`invalid_args: ${path}: expected a number`);
});

test('numbers that a double keeps are taken', () => {
  const raw = '{"a":9007199254740991,"b":0.1,"c":1e3,"d":1.7976931348623157e-300,"e":"9007199254740993"}';
  expect(parseArguments(raw, OPEN)).toEqual({ ok: true, value: JSON.parse(raw) });
});

test.each([
  '{"__proto__":{"admin":true}}',
  '{"o":{"x":[{"\\u005f_proto__":{"p":1}}]}}',
  '{"constructor":{"prototype":{}}}',
])('%s has a forbidden key and never runs', (raw) => {
  expect(messageOf(raw)).toContain('forbidden key');
  expect({}).not.toHaveProperty('admin');
});

test('a key that stands twice is refused, escaped or nested', () => {
  for (const raw of ['{"a":1,"a":1}', '{"path":"x","p\\u0061th":"y"}', '{"o":[{"a":1,"b":":","a":2}]}']) {
    expect(messageOf(raw)).toContain('duplicate key');
  }
  expect(messageOf('{"a":{"x":1},"b":{"x":":\\":{"}}')).toBe('ok');
});

test('size, number of values and depth are bounded, and quickly', () => {
  const bounded = () => {
    expect(messageOf(JSON.stringify({ path: 'a'.repeat(10_485_760) }))).toContain('too large');
    expect(messageOf(`{"l":[${'0,'.repeat(200_000)}0]}`)).toContain('too large');
    expect(messageOf(`{"d":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toContain('too deep');
    expect(messageOf(`{"d":${'['.repeat(63)}${']'.repeat(63)}}`)).toBe('ok');
    expect(messageOf(`{"d":${'['.repeat(64)}${']'.repeat(64)}}`)).toContain('too deep');
    expect(messageOf(JSON.stringify({ blob: '"\\'.repeat(300_000) }))).toBe('ok');
  };
  expect(fastest(1_000, bounded)).toBeLessThan(1_000);
});

test('a lone surrogate is refused', () => {
  expect(messageOf('{"path":"a\\ud800"}')).toContain('lone surrogate');
});

test('what is no object says what came', () => {
  expect(messageOf('["a"]', PUMP)).toBe(
    'invalid_args: $: expected object, got ["a"] (array). Required properties: unit, rate.',
  );
  expect(messageOf('5')).toContain('got 5 (number)');
  expect(messageOf('"text"')).toContain('got "text" (string)');
});

test('several issues stand in one message', () => {
  expect(messageOf('{"unit":1,"rate":"x"}', PUMP)).toBe(
    'invalid_args: $.unit: expected string, got 1 (number)\n$.rate: expected number, got "x" (string)',
  );
});

test('it never throws, whatever the text', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.json(),
    fc
      .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '1', 'e', '`', '<', '>', '\n', 'a', 'null'), {
        maxLength: 40,
      })
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(hostile, (raw) => {
      const parsed = parseArguments(raw, PUMP);
      if (!parsed.ok) expect(parsed.message.length).toBeLessThan(2_000);
    }),
    { numRuns: 1_000 },
  );
});

test('what JSON can hold comes back as it was', () => {
  const key = fc.string().filter((text) => !['__proto__', 'constructor', 'prototype'].includes(text));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, 0, -1.5, 'x', '":{,}'),
      fc.string({ unit: 'grapheme' }),
      fc.maxSafeInteger(),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, value, { noNullPrototype: true }), (object) => {
      expect(parseArguments(JSON.stringify(object), OPEN)).toEqual({ ok: true, value: object });
    }),
    { numRuns: 300 },
  );
});
