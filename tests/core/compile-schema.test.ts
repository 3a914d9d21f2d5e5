import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { issueText } from '../../src/core/schema/issue-text.ts';
import type { SchemaLike } from '../../src/core/schema/schema.ts';
import { ConfigurationError } from '../../src/core/values/errors.ts';
import { fastest } from '../support/fastest.ts';

function issuesOf(schema: SchemaLike, value: unknown): string {
  const validation = compileSchema(schema, 'input').validate(value);
  return validation.ok ? 'ok' : issueText(validation.issues);
}

describe('what a schema may be', () => {
  test('a zod object shows its input side and gives its output', () => {
    const schema = compileSchema(z.object({ n: z.string().transform(Number) }), 'input', { root: 'object' });
    expect(schema.jsonSchema).toEqual({ type: 'object', properties: { n: { type: 'string' } }, required: ['n'] });
    expect(schema.validate({ n: '4' })).toEqual({ ok: true, value: { n: 4 } });
    expect(schema.jsonSchema).toBe(schema.jsonSchema);
  });
  test('conversion waits until it is asked and happens once', () => {
    let conversions = 0;
    const zod = z.object({ a: z.string() });
    const standard = zod['~standard'];
    const counted = {
      '~standard': {
        ...standard,
        jsonSchema: {
          input: (options: { target: 'draft-2020-12' }) => {
            conversions++;
            return standard.jsonSchema.input(options);
          },
          output: standard.jsonSchema.output,
        },
      },
    };
    const schema = compileSchema(counted as SchemaLike, 'input');
    expect(conversions).toBe(0);
    schema.validate({ a: 'x' });
    schema.validate({ a: 'x' });
    void schema.jsonSchema;
    expect(conversions).toBe(1);
  });
  test('a schema without JSON Schema is refused with the field and the mend, and taken with one beside it', () => {
    const plain = mini.object({ a: mini.string() });
    expect(() => compileSchema(plain, 'input').jsonSchema).toThrow(/^input: .*JSON Schema.*\{ schema, jsonSchema \}/);
    expect(() => compileSchema(z.object({ d: z.date() }), 'input').jsonSchema).toThrow(/\{ schema, jsonSchema \}/);
    const jsonSchema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
    const schema = compileSchema({ schema: plain, jsonSchema }, 'input', { root: 'object' });
    expect(schema.jsonSchema).toEqual(jsonSchema);
    expect(schema.validate({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } });
    expect(schema.validate({ a: 'x', b: 1 }).ok).toBe(false);
  });
  test('what is no schema is refused at once', () => {
    for (const wrong of ['string', undefined, null, 5, [], { query: z.string() }, { schema: z.object({}) }]) {
      expect(() => compileSchema(wrong as unknown as SchemaLike, 'input'), String(wrong)).toThrow(ConfigurationError);
    }
  });
  test('an asynchronous schema is a configuration error', () => {
    const schema = compileSchema(z.object({ a: z.string().refine(async () => true) }), 'input');
    expect(() => schema.validate({ a: 'x' })).toThrow(/input: .*asynchronous/);
  });
  test('the JSON Schema taken is a frozen copy', () => {
    const given = { type: 'object', properties: { a: { type: 'string' } } };
    const schema = compileSchema(given, 'input');
    expect(schema.jsonSchema).toEqual(given);
    given.properties.a.type = 'number';
    expect(schema.jsonSchema).toMatchObject({ properties: { a: { type: 'string' } } });
    expect(Object.isFrozen(schema.jsonSchema.properties)).toBe(true);
  });
});

describe('the root of a tool', () => {
  const root = (schema: SchemaLike) => compileSchema(schema, 'input', { root: 'object' }).jsonSchema;
  test('a union of objects is shown as one object and still judged as the union', () => {
    const union = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), x: z.number() }),
      z.object({ kind: z.literal('b'), y: z.string() }),
    ]);
    const shown = root(union);
    expect(shown).toMatchObject({ type: 'object', required: ['kind'] });
    expect(shown).toHaveProperty('properties.kind', { type: 'string', enum: ['a', 'b'] });
    expect(Object.keys(shown)).not.toContain('oneOf');
    expect(shown.description).toContain('kind = "a" and x');
    expect(issuesOf(union, { kind: 'a', y: 'q' })).not.toBe('ok');
    expect(issuesOf(union, { kind: 'b', y: 'q' })).toBe('ok');
  });
  test('anyOf beside type object is folded in', () => {
    const schema = {
      type: 'object',
      properties: { version: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } },
      anyOf: [{ required: ['version'] }, { required: ['from', 'to'] }],
    };
    expect(root(schema)).toMatchObject({ type: 'object', properties: schema.properties });
    expect(root(schema)).not.toHaveProperty('anyOf');
    expect(issuesOf(schema, { from: 'a' })).not.toBe('ok');
  });
  test('a named schema is shown in place of its reference', () => {
    expect(root(z.object({ a: z.string() }).meta({ id: 'Named' }))).toMatchObject({
      type: 'object',
      properties: { a: { type: 'string' } },
    });
  });
  test('what is no object is refused', () => {
    for (const wrong of [z.string(), z.array(z.string()), z.union([z.string(), z.object({})]), { enum: [1] }]) {
      expect(() => root(wrong as SchemaLike)).toThrow(/input: expected an object at the root/);
    }
  });
  test('a recursive schema is converted and checked', () => {
    const tree = z.object({
      name: z.string(),
      get kids() {
        return z.array(tree);
      },
    });
    expect(root(tree)).toHaveProperty('properties.kids.items.$ref', '#');
    expect(issuesOf(tree, { name: 'a', kids: [{ name: 'b', kids: [] }] })).toBe('ok');
    expect(issuesOf(tree, { name: 'a', kids: [{ name: 'b', kids: [], x: 1 }] })).toContain('$.kids[0].x: unknown key');
  });
});

describe('closed keys', () => {
  test.each<[string, SchemaLike, unknown, string]>([
    ['z.object closes', z.object({ a: z.string() }), { a: 'x', b: 1 }, '$.b: unknown key; allowed: a'],
    ['z.looseObject opens', z.looseObject({ a: z.string() }), { a: 'x', b: 1 }, 'ok'],
    ['z.strictObject closes', z.strictObject({ a: z.string() }), { a: 'x', b: 1 }, '$.b: unknown key'],
    ['below a key', z.object({ o: z.object({ a: z.string() }) }), { o: { a: 'x', b: 1 } }, '$.o.b: unknown key'],
    ['below an array', z.object({ l: z.array(z.object({})) }), { l: [{}, { b: 1 }] }, '$.l[1].b: unknown key'],
    ['below a record', z.object({ r: z.record(z.string(), z.object({})) }), { r: { q: { b: 1 } } }, '$.r.q.b: unknown'],
    ['with a transform', z.object({ a: z.string().transform((a) => a.length) }), { a: 'x', b: 1 }, '$.b: unknown key'],
    [
      'a union where one branch takes it',
      z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
      { b: 1 },
      'ok',
    ],
    [
      'a union where none takes it',
      z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
      { c: 1 },
      '$.c',
    ],
    [
      'a union with a discriminator',
      z.discriminatedUnion('t', [z.object({ t: z.literal('a'), x: z.number() }), z.object({ t: z.literal('b') })]),
      { t: 'b', x: 1 },
      '$.x: unknown key; allowed: t',
    ],
    ['a nullable', z.object({ o: z.object({ a: z.string() }).nullable() }), { o: { a: 'x', b: 1 } }, '$.o.b'],
    [
      'an intersection',
      z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
      { a: 'x', b: 1 },
      'ok',
    ],
    [
      'a codec whose sides have other keys',
      z.codec(z.object({ a: z.string() }), z.object({ b: z.string() }), {
        decode: ({ a }) => ({ b: a }),
        encode: ({ b }) => ({ a: b }),
      }),
      { a: 'x' },
      'ok',
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(issuesOf(schema, value)).toContain(expected);
  });
});

describe('issues say field, expected, received and what is allowed', () => {
  test.each<[SchemaLike, unknown, string]>([
    [z.object({ flags: z.array(z.boolean()) }), { flags: ['yes'] }, '$.flags[0]: expected boolean, got "yes" (string)'],
    [z.object({ e: z.enum(['x', 'y']) }), { e: 'z' }, '$.e: expected one of "x", "y", got "z" (string)'],
    [z.object({ a: z.string() }), {}, '$.a: expected string, but it is missing'],
    [
      z.object({ u: z.union([z.string(), z.number()]) }),
      { u: true },
      '$.u: expected string or number, got true (boolean)',
    ],
    [z.object({ a: z.string().min(3) }), { a: 'q' }, '$.a: expected string to have >=3 characters, got "q" (string)'],
    [
      z.object({ a: z.string({ error: 'Give a city' }) }),
      { a: 1 },
      '$.a: expected string, got 1 (number); Give a city',
    ],
    [{ type: 'object', properties: { n: { type: 'integer' } } }, { n: 'x' }, '$.n: expected integer, got "x" (string)'],
    [{ type: 'object', required: ['a-b'] }, {}, '$["a-b"]: expected a value, but it is missing'],
    [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, '$.b: unknown key; allowed: a'],
    [{ properties: { e: { enum: [1, 2] } } }, { e: 3 }, '$.e: expected one of 1, 2, got 3 (number)'],
  ])('%#', (schema, value, expected) => {
    expect(issuesOf(schema, value)).toBe(expected);
  });
  test('many issues are cut to eight and counted', () => {
    const text = issuesOf({ type: 'array', items: { type: 'number' } }, Array(20).fill('x'));
    expect(text.split('\n')).toHaveLength(9);
    expect(text).toContain('and 12 more');
  });
  test('a long value is cut at a code point', () => {
    const text = issuesOf(z.object({ a: z.number() }), { a: '😀'.repeat(200) });
    expect(text.length).toBeLessThan(140);
    expect(text.isWellFormed()).toBe(true);
  });
});

describe('a JSON Schema of somebody else', () => {
  test('references elsewhere, and to nothing, are refused and nothing is fetched', () => {
    for (const $ref of ['http://host.invalid/s.json', '#/$defs/none', 'other.json']) {
      expect(() => compileSchema({ $ref }, 'input').jsonSchema).toThrow(ConfigurationError);
    }
  });
  test('one that does not compile is refused', () => {
    expect(() => compileSchema({ type: 'strin' }, 'input').validate({})).toThrow(/input: .*does not compile/);
  });
  test('one of endless size is refused quickly', () => {
    const many = { type: 'object', properties: { x: { enum: Array.from({ length: 1_000_000 }, (_, n) => n) } } };
    const refused = () => expect(() => compileSchema(many, 'input').jsonSchema).toThrow(/more than/);
    expect(fastest(500, refused)).toBeLessThan(500);
  });
  test('a draft-07 schema is checked as such', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    };
    expect(issuesOf(schema, { pair: ['a', 1] })).toBe('ok');
    expect(issuesOf(schema, { pair: [1, 1] })).toContain('$.pair[0]: expected string');
  });
  test('two schemas with the same $id do not meet', () => {
    const a = { $id: 'urn:a', type: 'object', properties: { x: { type: 'string' } } };
    const b = { $id: 'urn:a', type: 'object', properties: { x: { type: 'number' } } };
    expect(issuesOf(a, { x: 's' })).toBe('ok');
    expect(issuesOf(b, { x: 's' })).not.toBe('ok');
  });
  test.each(['^(a+)+$', '^(a|aa)+$', '^(a|a)*$', '^(.*a){20}$', 'a*a*a*a*b', '(a*)*\\1b'])(
    'pattern %s cannot hold the process',
    (pattern) => {
      const schema = compileSchema({ type: 'object', properties: { x: { type: 'string', pattern } } }, 'input');
      schema.validate({ x: 'b' });
      const hostile = { x: `${'a'.repeat(5_000)}!` };
      expect(fastest(250, () => schema.validate(hostile))).toBeLessThan(250);
    },
  );
  test('ordinary patterns match, also ones that the u flag refuses', () => {
    const of = (pattern: string) => ({ type: 'object', properties: { x: { type: 'string', pattern } } });
    expect(issuesOf(of('^[a-z]+(\\-[a-z]+)*$'), { x: 'one-two-three' })).toBe('ok');
    expect(issuesOf(of('^[a-z]+(\\-[a-z]+)*$'), { x: 'one--two' })).toContain('$.x: must match pattern');
  });
});

test('checking keys costs at most a microsecond over the schema itself', () => {
  const zod = z.object({ path: z.string(), n: z.number() });
  const schema = compileSchema(zod, 'input');
  const value = { path: 'a', n: 1 };
  const time = (run: () => unknown) => {
    for (let n = 0; n < 20_000; n++) run();
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      const start = performance.now();
      for (let n = 0; n < 20_000; n++) run();
      best = Math.min(best, (performance.now() - start) / 20);
    }
    return best;
  };
  const own = time(() => zod['~standard'].validate(value));
  const ours = time(() => schema.validate(value));
  expect(ours - own).toBeLessThan(1_000);
});
