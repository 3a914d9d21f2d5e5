import { ConfigurationError, messageOf } from '../values/errors.ts';
import { deepFreeze, isPlainObject } from '../values/json.ts';
import { closedKeys, type KeyCheck } from './closed-keys.ts';
import { refuseForbiddenKeys } from './forbidden-keys.ts';
import { compileJsonSchema, takeJsonSchema } from './foreign-schema.ts';
import { received, short, toIssues } from './issue-text.ts';
import { objectRoot } from './object-root.ts';
import type { Issue, JsonSchema, Schema, SchemaLike, StandardResult, StandardSchema, Validation } from './schema.ts';

const TARGET = { target: 'draft-2020-12' } as const;
const BESIDE = 'Give { schema, jsonSchema } with the JSON Schema beside it';

/**
 * Makes one schema of the three forms a user may give (https://standardschema.dev, draft 2020-12). Looks at the shape and for forbidden keys only;
 * conversion and checks are made once, when they are first asked.
 *
 * @param field the option that has the schema, for errors: `input`.
 * @param options.root 'object' (a tool's arguments) wants an object at the root; default 'any'.
 * @throws ConfigurationError at once for what is no schema; at the first use for one that cannot be shown as JSON Schema,
 *   does not compile, or validates asynchronously.
 */
export function compileSchema<T>(
  schema: SchemaLike<T>,
  field: string,
  options: { readonly root?: 'object' | 'any' | undefined } = {},
): Schema<T> {
  const source = sourceOf(schema as SchemaLike, field);
  let document: JsonSchema | undefined;
  let shown: JsonSchema | undefined;
  let check: ((value: unknown) => Validation<unknown>) | undefined;

  const documentOf = () => (document ??= convert(source, field));
  return Object.freeze({
    get jsonSchema(): JsonSchema {
      shown ??= show(documentOf(), field, options.root ?? 'any');
      return shown;
    },
    get gives(): JsonSchema | undefined {
      return source.standard === undefined ? documentOf() : outputOf(source.standard);
    },
    validate(value: unknown): Validation<T> {
      check ??=
        source.standard === undefined
          ? foreignCheck(documentOf(), field)
          : standardCheck(source.standard, keyCheckOf(source.standard, documentOf()), field);
      return check(value) as Validation<T>;
    },
  });
}

interface Source {
  readonly standard: StandardSchema | undefined;
  readonly given: unknown;
}

function sourceOf(schema: unknown, field: string): Source {
  if (isStandard(schema)) return { standard: schema, given: undefined };
  if (isPlainObject(schema)) {
    if (isStandard(schema.schema)) {
      if (isPlainObject(schema.jsonSchema)) {
        refuseForbiddenKeys(schema.jsonSchema, `${field}.jsonSchema`);
        return { standard: schema.schema, given: schema.jsonSchema };
      }
      throw new ConfigurationError(`${field}.jsonSchema`, 'expected a JSON Schema object', BESIDE);
    }
    // The commonest slip: the shape of an object where the object belongs.
    const problem = Object.values(schema).some(isStandard)
      ? 'this is an object of schemas, not a schema'
      : isJsonSchema(schema)
        ? undefined
        : `no keyword of JSON Schema among ${Object.keys(schema).slice(0, 5).join(', ')}`;
    if (problem === undefined) {
      refuseForbiddenKeys(schema, field);
      return { standard: undefined, given: schema };
    }
    throw new ConfigurationError(
      field,
      problem,
      "Write z.object({ … }) around it, or { type: 'object', properties: { … } }",
    );
  }
  const mend = 'Give a Standard Schema such as z.object({ … }), { schema, jsonSchema } or a JSON Schema object';
  throw new ConfigurationError(field, `expected a schema, got ${received(schema)}`, mend);
}

function isStandard(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return typeof standard === 'object' && standard !== null && typeof standard.validate === 'function';
}

function convert({ standard, given }: Source, field: string): JsonSchema {
  if (standard === undefined || given !== undefined) return takeJsonSchema(given, field);
  const { jsonSchema, vendor } = standard['~standard'];
  if (typeof jsonSchema?.input !== 'function') {
    throw new ConfigurationError(field, `this ${short(vendor)} schema cannot give its JSON Schema`, BESIDE);
  }
  let converted: unknown;
  try {
    converted = jsonSchema.input(TARGET);
  } catch (thrown) {
    throw new ConfigurationError(field, `no JSON Schema: ${short(messageOf(thrown), 200)}`, BESIDE);
  }
  refuseForbiddenKeys(converted, field);
  return takeJsonSchema(converted, field);
}

/** The schema as a model is shown it: without the dialect's name where that is the default one. */
function show(document: JsonSchema, field: string, root: 'object' | 'any'): JsonSchema {
  const { $schema, ...plain } = document;
  const named = typeof $schema !== 'string' || $schema.includes('2020-12') ? plain : document;
  if (root === 'any') return deepFreeze(named as JsonSchema);
  const shown = objectRoot(named as JsonSchema);
  if (shown !== undefined) return deepFreeze(shown);
  const got = JSON.stringify(document.type ?? Object.keys(plain)[0] ?? 'any');
  const mend = 'Models send objects: put it into a property, such as z.object({ value: … })';
  throw new ConfigurationError(field, `expected an object at the root of the schema, got ${short(got)}`, mend);
}

function keyCheckOf({ '~standard': standard }: StandardSchema, document: JsonSchema): KeyCheck | undefined {
  const output = outputOf({ '~standard': standard });
  if (output !== undefined) return closedKeys(output, document);
  // zod cannot show what a transform gives. Its input says the same of keys: only z.object leaves the others unsaid.
  const isTransform = standard.vendor === 'zod' && standard.jsonSchema !== undefined;
  return closedKeys(isTransform ? (closeUnsaid(document) as JsonSchema) : document);
}

function outputOf({ '~standard': { jsonSchema } }: StandardSchema): JsonSchema | undefined {
  try {
    const output = jsonSchema?.output(TARGET);
    return isPlainObject(output) ? (output as JsonSchema) : undefined;
  } catch {
    return undefined;
  }
}

function closeUnsaid(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closeUnsaid);
  if (!isPlainObject(node)) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closeUnsaid(value)]));
  const unsaid = node.type === 'object' && isPlainObject(node.properties) && node.additionalProperties === undefined;
  return unsaid ? { ...copy, additionalProperties: false } : copy;
}

function foreignCheck(document: JsonSchema, field: string): (value: unknown) => Validation<unknown> {
  const issuesOf = compileJsonSchema(document, field);
  return (value) => {
    const issues = issuesOf(value);
    return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
  };
}

function standardCheck(
  standard: StandardSchema,
  keyCheck: KeyCheck | undefined,
  field: string,
): (value: unknown) => Validation<unknown> {
  const facts = standard['~standard'];
  return (value) => {
    const unknownKey = keyCheck?.(value, '$');
    if (unknownKey !== undefined) return { ok: false, issues: [unknownKey] };
    let result: StandardResult<unknown> | Promise<StandardResult<unknown>>;
    try {
      result = facts.validate(value);
    } catch (thrown) {
      return { ok: false, issues: [thrownIssue(thrown)] };
    }
    if (result instanceof Promise) {
      result.catch(() => {});
      const mend = 'Schemas validate synchronously: move what must wait into the tool';
      throw new ConfigurationError(field, 'the schema validates asynchronously', mend);
    }
    if (result.issues === undefined) return { ok: true, value: result.value };
    return { ok: false, issues: toIssues(result.issues, value) };
  };
}

function thrownIssue(thrown: unknown): Issue {
  return { path: '$', message: `the schema's own check failed: ${short(messageOf(thrown), 200)}` };
}

const KEYWORDS = [
  ...[
    '$schema',
    '$id',
    '$ref',
    '$defs',
    'type',
    'enum',
    'const',
    'properties',
    'patternProperties',
    'additionalProperties',
  ],
  ...[
    'required',
    'items',
    'prefixItems',
    'anyOf',
    'oneOf',
    'allOf',
    'not',
    'if',
    'format',
    'pattern',
    'description',
    'title',
  ],
];

/** `{}` is the schema of anything; an object without one keyword is most likely no schema. */
function isJsonSchema(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).length === 0 || KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword));
}
