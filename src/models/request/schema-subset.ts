import type { JsonSchema } from '../../core/schema/schema.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';

/** Which schemas a provider can enforce. */
export interface Subset {
  /** Every property must be in `required`. */
  readonly allRequired: boolean;
}

/** Kept as they are. */
const KEPT = new Set(['type', 'required', 'additionalProperties', 'enum', 'const', '$ref', 'description', 'title']);
/** Left out: they narrow an answer, and it is validated by the whole schema anyway. */
const DROPPED = new Set([
  '$schema',
  '$id',
  'default',
  'examples',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
]);

/**
 * The schema as a provider's constrained decoding takes it, or undefined where it does not: open objects and keywords
 * beyond the common subset cannot be expressed there.
 */
export function schemaSubset(schema: JsonSchema, subset: Subset): JsonSchema | undefined {
  if (schema.type !== 'object') return undefined;
  const reduced = reduce(schema, subset);
  return isPlainObject(reduced) ? (reduced as JsonSchema) : undefined;
}

function reduce(schema: Json | undefined, subset: Subset): Json | undefined {
  if (!isPlainObject(schema)) return undefined;
  if (schema.type === 'object' && !isClosed(schema, subset)) return undefined;
  const entries: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(schema as JsonSchema)) {
    if (DROPPED.has(keyword)) continue;
    const supported = KEPT.has(keyword) ? value : reduceKeyword(keyword, value, subset);
    if (supported === undefined) return undefined;
    entries.push([keyword, supported]);
  }
  return Object.fromEntries(entries);
}

function reduceKeyword(keyword: string, value: Json, subset: Subset): Json | undefined {
  switch (keyword) {
    case 'items':
      return reduce(value, subset);
    case 'anyOf': {
      if (!Array.isArray(value)) return undefined;
      const variants = value.map((variant: Json) => reduce(variant, subset));
      return variants.every((variant) => variant !== undefined) ? variants : undefined;
    }
    case 'properties':
    case '$defs':
    case 'definitions': {
      if (!isPlainObject(value)) return undefined;
      const parts = Object.entries(value as JsonSchema).map(([name, part]) => [name, reduce(part, subset)] as const);
      const whole = parts.filter((part): part is readonly [string, Json] => part[1] !== undefined);
      return whole.length === parts.length ? Object.fromEntries(whole) : undefined;
    }
    default:
      return undefined;
  }
}

function isClosed({ properties, required, additionalProperties }: Record<string, unknown>, subset: Subset): boolean {
  if (additionalProperties !== false) return false;
  const names = Object.keys(isPlainObject(properties) ? properties : {});
  return !subset.allRequired || (Array.isArray(required) && names.every((name) => required.includes(name)));
}
