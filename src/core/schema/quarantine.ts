import { ConfigurationError } from '../values/errors.ts';
import { isPlainObject } from '../values/json.ts';
import { resolveRef } from './resolve-ref.ts';
import type { JsonSchema, Schema } from './schema.ts';

/**
 * Refuses an output that could carry a text: a string that is no enum, an object that takes other keys, a list without an end.
 *
 * @throws ConfigurationError naming the place.
 */
export function checkClosed({ gives }: Schema, field: string): void {
  const found = gives === undefined ? '$ does not say what it gives' : openPart(gives, gives, '$', 0);
  if (found === undefined) return;
  throw new ConfigurationError(field, `a quarantined agent needs a closed output, and ${found}`, MEND);
}

const MEND =
  'Use booleans, numbers, enums, objects of these that take no other keys, and lists of these with maxItems.';
const SCALARS: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'number', 'null']);

/** The first part that takes values that are not listed; undefined where there is none. */
function openPart(node: unknown, root: JsonSchema, path: string, depth: number): string | undefined {
  const schema = resolveRef(node, root);
  if (schema === undefined || depth > 16) return `${path} has no form that ends`;
  if (Array.isArray(schema.enum)) return schema.enum.every(isScalar) ? undefined : `${path} lists more than values`;
  if ('const' in schema) return isScalar(schema.const) ? undefined : `${path} is no value`;
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches) && branches.length > 0)
    return first(branches, (branch) => openPart(branch, root, path, depth + 1));
  const types = [schema.type].flat();
  return types.length === 0
    ? `${path} says no type`
    : first(types, (type) => openType(type, schema, root, path, depth));
}

function openType(
  type: unknown,
  schema: JsonSchema,
  root: JsonSchema,
  path: string,
  depth: number,
): string | undefined {
  if (SCALARS.has(type)) return undefined;
  if (type === 'object') {
    if (schema.additionalProperties !== false || schema.patternProperties !== undefined)
      return `${path} takes other keys`;
    const properties = isPlainObject(schema.properties) ? Object.entries(schema.properties) : [];
    return first(properties, ([name, one]) => openPart(one, root, `${path}.${name}`, depth + 1));
  }
  if (type === 'array') {
    const items = [...(Array.isArray(schema.prefixItems) ? schema.prefixItems : []), schema.items];
    if (typeof schema.maxItems !== 'number' && schema.items !== false) return `${path} has no maxItems`;
    return first(
      items.filter((item) => item !== false),
      (item) => openPart(item, root, `${path}[]`, depth + 1),
    );
  }
  return type === 'string' ? `${path} is any text` : `${path} says no type that is closed`;
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== 'object';
}

function first<T>(items: readonly T[], of: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
