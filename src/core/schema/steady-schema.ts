import { isPlainObject } from '../values/json.ts';
import type { JsonSchema } from './schema.ts';

/** Keywords whose keys are names and not keywords. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'examples']);

/**
 * A schema as it is hashed: without defaults. One that is a function gives another value in each process, and what it gave
 * is among the arguments anyway.
 */
export function steadySchema(schema: JsonSchema): JsonSchema {
  return withoutDefaults(schema) as JsonSchema;
}

function withoutDefaults(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutDefaults);
  if (!isPlainObject(node)) return node;
  const entries = Object.entries(node).flatMap(([key, value]): [string, unknown][] => {
    if (key === 'default') return [];
    if (DATA.has(key)) return [[key, value]];
    if (!NAMED.has(key) || !isPlainObject(value)) return [[key, withoutDefaults(value)]];
    return [[key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutDefaults(one)]))]];
  });
  return Object.fromEntries(entries);
}
