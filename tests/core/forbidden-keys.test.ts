import { ConfigurationError, defineAgent, defineTool } from 'coxswain';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { FORBIDDEN_KEYS } from '../../src/core/schema/forbidden-keys.ts';

/** An object literal would set the prototype. */
const named = (key: string, value: unknown): Record<string, unknown> =>
  JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`);
const string = { type: 'string' };

const places: readonly (readonly [string, (key: string) => Record<string, unknown>])[] = [
  ['a property', (key) => ({ properties: named(key, string) })],
  [
    'a property beside others',
    (key) => ({ properties: { a: string, ...named('b', string), c: { properties: named(key, string) } } }),
  ],
  ['a required property', (key) => ({ required: ['a', key] })],
  ['a property of an item', (key) => ({ properties: { a: { type: 'array', items: { properties: named(key, {}) } } } })],
  ['a property in anyOf', (key) => ({ anyOf: [{}, { properties: named(key, {}) }] })],
  ['a property of a definition', (key) => ({ $ref: '#/$defs/a', $defs: { a: { properties: named(key, {}) } } })],
  ['a dependent schema', (key) => ({ dependentSchemas: named(key, {}) })],
  ['a dependent property', (key) => ({ dependentRequired: { a: [key] } })],
  ['what others depend on', (key) => ({ dependentRequired: named(key, ['a']) })],
  ['a dependency of draft 7', (key) => ({ dependencies: { a: [key] } })],
  ['a pattern of one name', (key) => ({ patternProperties: named(`^${key}$`, {}) })],
  ['a constant', (key) => ({ properties: { a: { const: { b: [named(key, 1)] } } } })],
  ['an enum', (key) => ({ properties: { a: { enum: [1, named(key, 1)] } } })],
];

describe('a key that no call may have', () => {
  const cases = places.flatMap(([place, of]) => [...FORBIDDEN_KEYS].map((key) => [place, key, of(key)] as const));

  test.each(cases)('as %s is refused when it is defined: %s', (_, key, schema) => {
    const document = { type: 'object', ...schema };
    const error = expect.objectContaining({ message: expect.stringContaining(`has the key ${key}`) });
    const execute = () => 'x';
    for (const input of [document, { schema: z.object({}), jsonSchema: document as never }])
      expect(() => defineTool({ name: 'look', description: 'Looks', access: 'read', input, execute })).toThrow(error);
    expect(() => defineAgent({ name: 'a', instructions: 'x', output: document as never })).toThrow(ConfigurationError);
  });

  test.each([
    ['a definition of that name', { $defs: { constructor: string, prototype: string } }],
    ['a default and an example', { properties: { a: { default: { constructor: 1 }, examples: [{ prototype: 1 }] } } }],
    ['a text', { properties: { a: { enum: ['constructor', '__proto__'], description: '__proto__' } } }],
    [
      'properties that are named as keywords are',
      { properties: { required: { const: 'constructor' }, properties: string } },
    ],
    ['a pattern of many names', { patternProperties: { '^c': {} } }],
  ])('%s is taken', (_, schema) => {
    expect(compileSchema({ type: 'object', ...schema }, 'input', { root: 'object' }).jsonSchema).toBeDefined();
  });

  test('in a schema of zod is refused when it is converted', () => {
    const schema = compileSchema(z.object({ constructor: z.string() }), 'input');
    expect(() => schema.jsonSchema).toThrow(/has the key constructor/);
  });

  test('in a schema that leads back to itself or is very deep, the look ends', () => {
    const circle: { type: string; not?: object } = { type: 'object' };
    circle.not = circle;
    expect(() => compileSchema(circle as never, 'input').jsonSchema).toThrow(/nested deeper/);
  });
});
