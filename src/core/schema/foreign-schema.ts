import { createRequire } from 'node:module';
import type { ErrorObject, Options } from 'ajv';
import { ConfigurationError, messageOf } from '../values/errors.ts';
import { deepFreeze, isPlainObject } from '../values/json.ts';
import { atPointer, propertyPath } from '../values/json-pointer.ts';
import { allowedText, received, short } from './issue-text.ts';
import { resolveRef } from './resolve-ref.ts';
import { safePattern, withinPatternTime } from './safe-pattern.ts';
import type { Issue, JsonSchema } from './schema.ts';

const MAX_NODES = 50_000;
const MAX_DEPTH = 64;

/**
 * A frozen copy of a JSON Schema of another system, after a look at what could hurt: size, depth, references that lead
 * elsewhere. Nothing is ever fetched. Throws a ConfigurationError.
 */
export function takeJsonSchema(given: unknown, field: string): JsonSchema {
  let nodes = 0;
  const refuse = (problem: string, mend: string): never => {
    throw new ConfigurationError(field, problem, mend);
  };
  const copy = (node: unknown, depth: number): unknown => {
    if (++nodes > MAX_NODES) refuse(`the JSON Schema has more than ${MAX_NODES} parts`, 'Give a smaller one');
    if (depth > MAX_DEPTH)
      refuse(`the JSON Schema is nested deeper than ${MAX_DEPTH}`, 'Name parts in $defs and use $ref');
    if (Array.isArray(node)) return node.map((item) => copy(item, depth + 1));
    if (node === null || typeof node === 'string' || typeof node === 'boolean') return node;
    if (typeof node === 'number' && Number.isFinite(node)) return node;
    if (!isPlainObject(node)) return refuse(`a JSON Schema cannot hold ${received(node)}`, 'Give plain JSON');
    const entries: [string, unknown][] = [];
    for (const [key, value] of Object.entries(node)) {
      if (value !== undefined) entries.push([key, copy(value, depth + 1)]);
    }
    return Object.fromEntries(entries);
  };
  const schema = copy(given, 0) as JsonSchema;
  checkReferences(schema, schema, field);
  if (isEndless(schema))
    refuse('the JSON Schema leads back to itself without going into the value', 'Let it recur through a property');
  return deepFreeze(schema);
}

/** Checks a value against a JSON Schema with ajv, which is loaded when the first such schema is compiled. */
export function compileJsonSchema(schema: JsonSchema, field: string): (value: unknown) => Issue[] {
  const { $schema, $id: _, ...body } = schema;
  const ajv = validatorFor($schema);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(body);
  } catch (thrown) {
    const mend = 'Mend the schema, or give { schema, jsonSchema }';
    throw new ConfigurationError(field, `the JSON Schema does not compile: ${short(messageOf(thrown), 200)}`, mend);
  } finally {
    // The instance is shared and keeps what it compiled; a server that connects again would pile up.
    ajv.removeSchema(body);
  }
  return (value) =>
    withinPatternTime(() => validate(value)) ? [] : (validate.errors ?? []).map((error) => toIssue(error, value));
}

type Validator = import('ajv').Ajv;
const validators = new Map<string, Validator>();

function validatorFor(dialect: unknown): Validator {
  const name = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? 'ajv' : 'ajv/dist/2020.js';
  const known = validators.get(name);
  if (known !== undefined) return known;
  const require = createRequire(import.meta.url);
  const { default: Ajv } = (name === 'ajv' ? require('ajv') : require('ajv/dist/2020.js')) as {
    default: new (options: Options) => Validator;
  };
  const regExp = Object.assign((source: string, flags: string) => safePattern(source, flags), { code: 'safePattern' });
  const validator = new Ajv({
    strict: false,
    allErrors: true,
    verbose: true,
    ownProperties: true,
    validateFormats: false,
    logger: false,
    code: { regExp },
  });
  validators.set(name, validator);
  return validator;
}

function checkReferences(node: unknown, root: JsonSchema, field: string): void {
  if (Array.isArray(node)) for (const item of node) checkReferences(item, root, field);
  if (!isPlainObject(node)) return;
  for (const [key, value] of Object.entries(node)) {
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') {
      // A name such as #node is an anchor, which the compiler looks up itself.
      const known = /^#[^/]/.test(value) || (value.startsWith('#') && leadsSomewhere(node, root, value.slice(1)));
      if (!known) {
        const mend = 'Refer to a part of the same schema, such as #/$defs/name; nothing is fetched';
        throw new ConfigurationError(field, `the JSON Schema refers to ${short(value)}`, mend);
      }
    }
    if (key !== 'enum' && key !== 'const' && key !== 'default' && key !== 'examples') {
      checkReferences(value, root, field);
    }
  }
}

/** To a schema, which may be `true` or `false`. */
function leadsSomewhere(node: unknown, root: JsonSchema, pointer: string): boolean {
  return resolveRef(node, root) !== undefined || typeof atPointer(root, pointer) === 'boolean';
}

function toIssue(error: ErrorObject, root: unknown): Issue {
  let path = '$';
  let value: unknown = root;
  for (const part of error.instancePath.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path = Array.isArray(value) ? `${path}[${key}]` : propertyPath(path, short(key));
    value = value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[key] : undefined;
  }
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return {
        path: propertyPath(path, short(String(params.missingProperty))),
        message: 'expected a value, but it is missing',
      };
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = String(params.additionalProperty ?? params.unevaluatedProperty);
      const parent = isPlainObject(error.parentSchema) ? error.parentSchema : undefined;
      const names = Object.keys(isPlainObject(parent?.properties) ? parent.properties : {}).join(', ');
      return {
        path: propertyPath(path, short(key)),
        message: `unknown key${names && `; allowed: ${short(names, 300)}`}`,
      };
    }
    case 'type':
      return { path, message: `expected ${[params.type].flat().join(' or ')}, got ${received(value)}` };
    case 'enum':
      return {
        path,
        message: `expected one of ${allowedText(Array.isArray(params.allowedValues) ? params.allowedValues : [])}, got ${received(value)}`,
      };
    case 'const':
      return { path, message: `expected ${allowedText([params.allowedValue])}, got ${received(value)}` };
    default:
      return { path, message: `${short(error.message ?? 'does not fit the schema', 200)}, got ${received(value)}` };
  }
}

/** Keywords whose schemas judge the same value as the schema that holds them. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * Whether a schema leads back to itself without going into the value: checking a value by it never ends. What recurs
 * through a property or an item ends with the value.
 */
export function isEndless(root: JsonSchema): boolean {
  const done = new Set<unknown>();
  const above = new Set<unknown>();

  const leadsBack = (node: unknown): boolean => {
    if (!isPlainObject(node) || done.has(node)) return false;
    if (above.has(node)) return true;
    above.add(node);
    const found = judgesOf(node, root).some(leadsBack);
    above.delete(node);
    done.add(node);
    return found;
  };

  const anyBelow = (node: unknown): boolean =>
    Array.isArray(node)
      ? node.some(anyBelow)
      : isPlainObject(node) && (leadsBack(node) || Object.values(node).some(anyBelow));

  return anyBelow(root);
}

/** The schemas that judge the same value as this one does. */
function judgesOf(node: Record<string, unknown>, root: JsonSchema): unknown[] {
  const { $ref, dependentSchemas } = node;
  // A chain of references that does not end leads to nothing.
  const isLocal = typeof $ref === 'string' && /^#(\/|$)/.test($ref) && !isBoolean(root, $ref);
  const target = isLocal ? [resolveRef({ $ref }, root) ?? node] : [];
  const dependent = isPlainObject(dependentSchemas) ? Object.values(dependentSchemas) : [];
  return [...target, ...dependent, ...SAME_VALUE.flatMap((key) => node[key] ?? [])];
}

/** A schema that is `true` or `false` leads nowhere. */
function isBoolean(root: JsonSchema, ref: string): boolean {
  return typeof atPointer(root, ref.slice(1)) === 'boolean';
}
