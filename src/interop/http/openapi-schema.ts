import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';

type Doc = { readonly [key: string]: unknown };

const DEPTH = 64;

/** What a reference leads to within the document; an object that is none stays as it is. */
export function resolved(field: string, document: Doc, given: unknown): Doc {
  let at: unknown = given;
  for (let steps = 0; isPlainObject(at) && typeof at.$ref === 'string'; steps += 1) {
    if (steps > DEPTH) throw broken(field, at.$ref, 'leads in a circle');
    at = pointed(field, document, at.$ref);
  }
  return isPlainObject(at) ? at : {};
}

function pointed(field: string, document: Doc, ref: string): unknown {
  if (!ref.startsWith('#/')) throw broken(field, ref, 'leads out of the document');
  let at: unknown = document;
  for (const part of ref.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isPlainObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  if (at === undefined) throw broken(field, ref, 'leads nowhere');
  return at;
}

function broken(field: string, ref: string, problem: string): ConfigurationError {
  return new ConfigurationError(
    `${field}.document`,
    `the reference ${short(ref, 100)} ${problem}`,
    'Bundle the document first.',
  );
}

/**
 * A schema of the document as a self-contained one: referenced schemas go into `definitions`, once each, and keywords of
 * OpenAPI 3.0 become keywords of JSON Schema.
 */
export function localSchema(field: string, document: Doc, schema: unknown, definitions: Map<string, Json>): Json {
  const copy = (value: unknown, depth: number): Json => {
    if (depth > DEPTH) throw broken(field, '#', 'is nested too deeply');
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
    if (!isPlainObject(value)) return (value ?? null) as Json;
    if (typeof value.$ref === 'string') return { $ref: define(value.$ref, depth) };
    const entries = Object.entries(value).filter(([word]) => !ANNOTATIONS.has(word));
    return modern(Object.fromEntries(entries.map(([word, item]) => [word, part(word, item, depth)])));
  };
  const part = (word: string, item: unknown, depth: number): Json => {
    if (VALUES.has(word)) return item as Json;
    if (!MAPS.has(word) || !isPlainObject(item)) return copy(item, depth + 1);
    return Object.fromEntries(Object.entries(item).map(([name, schema]) => [name, copy(schema, depth + 1)]));
  };
  const define = (ref: string, depth: number): string => {
    const name = ref.replace(/^#\/components\/schemas\//, '').replace(/[^\w.-]/g, '_');
    if (!definitions.has(name)) {
      // Before its own references are read: it may refer to itself.
      definitions.set(name, true);
      definitions.set(name, copy(pointed(field, document, ref), depth + 1));
    }
    return `#/$defs/${name}`;
  };
  return schema === undefined ? {} : copy(schema, 0);
}

/** Keywords whose members are schemas by arbitrary names, and keywords that hold values. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const VALUES: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'type',
  'description',
]);
const ANNOTATIONS: ReadonlySet<string> = new Set(['xml', 'externalDocs', 'discriminator', 'example']);

/** `nullable` and exclusive bounds of OpenAPI 3.0. */
function modern({ nullable, ...schema }: { [key: string]: Json }): Json {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    const isExclusive = schema[exclusive];
    delete schema[exclusive];
    if (isExclusive && schema[bound] !== undefined) {
      schema[exclusive] = schema[bound];
      delete schema[bound];
    }
  }
  if (nullable === undefined) return schema;
  if (nullable !== true) return typeof nullable === 'boolean' ? schema : { ...schema, nullable };
  if (typeof schema.type === 'string') {
    const names = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
    return { ...schema, ...names, type: [schema.type, 'null'] };
  }
  return { anyOf: [schema, { type: 'null' }] };
}
