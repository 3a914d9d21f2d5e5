import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { mendJson } from '../../src/core/schema/mend-json.ts';
import { parseOutput } from '../../src/core/schema/parse-output.ts';

describe('JSON that a model wrote', () => {
  it.each([
    ['trailing commas', '{"a": [1, 2,], "b": {"c": 1,},}', { a: [1, 2], b: { c: 1 } }],
    ['comments', '{"a": 1, // one\n "b": /* two */ 2,\n}', { a: 1, b: 2 }],
    ['Python’s words', '{"a": True, "b": [False, None]}', { a: true, b: [false, null] }],
    ['line breaks in texts', '{"a": "one\n\ttwo"}', { a: 'one\n\ttwo' }],
    ['what only looks like it, in texts', '{"a": "1,] // True", "b": "x\\",}"}', { a: '1,] // True', b: 'x",}' }],
  ])('is read with %s', (_what, text, value) => {
    expect(JSON.parse(mendJson(text))).toEqual(value);
  });

  it('that is whole keeps its value', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(mendJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('is never completed: what was cut stays broken', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.json(), { minKeys: 1 }), fc.nat(), (value, cut) => {
        const text = JSON.stringify(value);
        expect(() => JSON.parse(mendJson(text.slice(0, cut % text.length)))).toThrow();
      }),
    );
  });

  it('is taken as output, also between other words', () => {
    const schema = compileSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, 'output');
    expect(parseOutput('Here:\n```json\n{"n": 1,}\n```', schema)).toEqual({ ok: true, value: { n: 1 } });
    expect(parseOutput('So {"n": 1, /* one */}!', schema)).toEqual({ ok: true, value: { n: 1 } });
  });

  it('is read in time in proportion to its length', () => {
    const started = performance.now();
    mendJson(`[${'1, /* x */'.repeat(200_000)}]`);
    mendJson(`[${','.repeat(400_000)}`);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
