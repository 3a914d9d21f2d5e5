import type { JsonSchema } from '../../core/schema/schema.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';

/** Keywords that Gemini's function declarations refuse, and what they narrow is checked by our own validation. */
const REFUSED = new Set([
  '$schema',
  '$id',
  '$ref',
  '$defs',
  'definitions',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'const',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'dependentRequired',
  'dependentSchemas',
  'additionalProperties',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'contentEncoding',
  'contentMediaType',
  'examples',
  'default',
]);
/** References that lead to themselves end here. */
const MAX_DEPTH = 12;

/**
 * A JSON Schema in the subset of OpenAPI that Gemini takes: references are written out, `const` is an `enum` of one,
 * `oneOf` an `anyOf`, a list of types one type or an `anyOf`, `null` is `nullable`.
 */
export function geminiSchema(schema: JsonSchema): JsonSchema {
  const converted = convert(schema, schema, 0);
  return isPlainObject(converted) ? (converted as JsonSchema) : { type: 'object', properties: {} };
}

function convert(value: Json | undefined, root: JsonSchema, depth: number): Json {
  if (!isPlainObject(value) || depth > MAX_DEPTH) return {};
  const schema = resolved(value as JsonSchema, root, depth);
  const out: { [keyword: string]: Json } = {};
  for (const [keyword, item] of Object.entries(schema)) {
    if (!REFUSED.has(keyword)) out[keyword] = convertKeyword(keyword, item, root, depth);
  }
  if (schema.const !== undefined) out.enum = [schema.const];
  const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (variants !== undefined) out.anyOf = variants.map((item: Json) => convert(item, root, depth + 1));
  return withNullable(withOneType(out));
}

function convertKeyword(keyword: string, item: Json, root: JsonSchema, depth: number): Json {
  if (keyword === 'items') return convert(item, root, depth + 1);
  if (keyword !== 'properties' || !isPlainObject(item)) return item;
  return Object.fromEntries(
    Object.entries(item as JsonSchema).map(([name, part]) => [name, convert(part, root, depth + 1)]),
  );
}

/** The schema with its reference and its `allOf` written out. */
function resolved(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  if (depth > MAX_DEPTH) return {};
  const { $ref, allOf, ...own } = schema;
  const parts: JsonSchema[] = [];
  if (typeof $ref === 'string') parts.push(resolved(target($ref, root), root, depth + 1));
  if (Array.isArray(allOf)) {
    for (const part of allOf) if (isPlainObject(part)) parts.push(resolved(part as JsonSchema, root, depth + 1));
  }
  return parts.reduceRight((merged, part) => merge(part, merged), own);
}

function merge(base: JsonSchema, over: JsonSchema): JsonSchema {
  const properties = { ...objectOf(base.properties), ...objectOf(over.properties) };
  const required = [...new Set([...listOf(base.required), ...listOf(over.required)])];
  return {
    ...base,
    ...over,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

function target(pointer: string, root: JsonSchema): JsonSchema {
  if (!pointer.startsWith('#')) return {};
  let at: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isPlainObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isPlainObject(at) ? (at as JsonSchema) : {};
}

/** `type: ['string', 'null']` is a nullable string; several types are variants. */
function withOneType(schema: { [keyword: string]: Json }): { [keyword: string]: Json } {
  const { type, ...rest } = schema;
  if (!Array.isArray(type)) return schema;
  const types = type.filter((name) => name !== 'null');
  const nullable = types.length < type.length ? { nullable: true } : {};
  if (types.length === 1) return { ...rest, type: types[0] ?? 'string', ...nullable };
  return { ...rest, anyOf: types.map((name) => ({ type: name })), ...nullable };
}

/** `anyOf: [X, { type: 'null' }]` is a nullable X. Enums may contain only texts. */
function withNullable(schema: { [keyword: string]: Json }): Json {
  const { anyOf, ...rest } = schema;
  if (Array.isArray(rest.enum)) {
    const texts = rest.enum.filter((item) => typeof item === 'string');
    if (texts.length < rest.enum.length) delete rest.enum;
    else rest.type = 'string';
  }
  if (!Array.isArray(anyOf)) return rest;
  const variants = anyOf.filter((item: Json) => !(isPlainObject(item) && item.type === 'null'));
  const nullable = variants.length < anyOf.length ? { nullable: true } : {};
  const [only] = variants;
  if (variants.length === 1 && isPlainObject(only)) return { ...rest, ...(only as JsonSchema), ...nullable };
  return { ...rest, anyOf: variants, ...nullable };
}

function objectOf(value: Json | undefined): JsonSchema {
  return isPlainObject(value) ? (value as JsonSchema) : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
