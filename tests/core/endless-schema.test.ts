import { defineTool } from 'coxswain';
import { describe, expect, it } from 'vitest';
import { isEndless } from '../../src/core/schema/foreign-schema.ts';
import type { JsonSchema } from '../../src/core/schema/schema.ts';

const ENDLESS: readonly [string, JsonSchema][] = [
  ['itself', { $ref: '#' }],
  ['itself by a join', { type: 'object', allOf: [{ $ref: '#' }] }],
  [
    'a part of it by two others',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: {
        a: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/b' }] },
        b: { if: true, else: { $ref: '#/$defs/a' } },
      },
    },
  ],
  ['a part of it by what depends on a property', { $defs: { a: { dependentSchemas: { x: { $ref: '#/$defs/a' } } } } }],
];

const ENDING: readonly [string, JsonSchema][] = [
  ['a tree', { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } }],
  ['a list', { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }],
  [
    'one part in two places',
    { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: { type: 'object' } } },
  ],
];

describe('a schema that leads back to itself', () => {
  it.each(ENDLESS)('is found where it is %s', (_, schema) => expect(isEndless(schema)).toBe(true));

  it.each(ENDING)('is not seen in %s', (_, schema) => expect(isEndless(schema)).toBe(false));

  it('is refused as the input of a tool, which it would hold for ever', () => {
    const tool = defineTool({
      name: 'look',
      description: 'Looks',
      access: 'read',
      input: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } },
      },
      execute: () => '',
    });
    expect(() => tool.input.jsonSchema).toThrow('leads back to itself');
  });
});
