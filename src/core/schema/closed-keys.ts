import { isPlainObject } from '../values/json.ts';
import { propertyPath } from '../values/json-pointer.ts';
import { resolveRef } from './resolve-ref.ts';
import type { Issue, JsonSchema } from './schema.ts';

/** Says which keys of a value its schema closes; undefined where there are none. */
export type KeyCheck = (value: unknown, path: string) => Issue | undefined;

const NESTED = ['properties', 'patternProperties', '$defs', 'definitions'] as const;

/**
 * A check for keys that `output` closes (`additionalProperties: false`), nested ones too, made once and run before validation:
 * zod would drop unknown keys in silence. Returns undefined where nothing is closed. A key that only the `input` side of a
 * schema knows (a codec, a pipe) is allowed in its place.
 */
export function closedKeys(output: JsonSchema, input: JsonSchema = output): KeyCheck | undefined {
  if (!closesSomewhere(output, 0)) return undefined;
  return compile({ output, input, compiled: new Map() }, output, input);
}

/** Both sides of the schema, and the checks of its parts that were made. */
interface Sides {
  readonly output: JsonSchema;
  readonly input: JsonSchema;
  readonly compiled: Map<JsonSchema, KeyCheck | undefined>;
}

function compile(sides: Sides, node: unknown, other: unknown): KeyCheck | undefined {
  const { output, input, compiled } = sides;
  const schema = resolveRef(node, output);
  if (schema === undefined) return undefined;
  if (compiled.has(schema)) return compiled.get(schema);
  // A schema that refers to itself finds this while it is being compiled; it leads to the finished check when it runs.
  const later: { check: KeyCheck | undefined } = { check: undefined };
  compiled.set(schema, (value, path) => later.check?.(value, path));
  const twin = resolveRef(other, input);
  const checks = [objectCheck(sides, schema, twin), arrayCheck(sides, schema, twin), branchCheck(sides, schema, twin)];
  later.check = all(checks);
  compiled.set(schema, later.check);
  return later.check;
}

function objectCheck(sides: Sides, schema: JsonSchema, twin: JsonSchema | undefined): KeyCheck | undefined {
  const members = membersOf(schema, sides.output);
  if (members.length === 0) return undefined;
  const allowed = new Set<string>(Object.keys(propertiesOf(twin)));
  const children = new Map<string, KeyCheck[]>();
  const rest: KeyCheck[] = [];
  for (const member of members) {
    for (const [key, child] of Object.entries(propertiesOf(member))) {
      allowed.add(key);
      const check = compile(sides, child, propertiesOf(twin)[key]);
      if (check) children.set(key, [...(children.get(key) ?? []), check]);
    }
    const check = compile(sides, member.additionalProperties, twin?.additionalProperties);
    if (check) rest.push(check);
  }
  const closed = members.every((member) => member.additionalProperties === false && !member.patternProperties);
  if (!closed && children.size === 0 && rest.length === 0) return undefined;
  const nested = [...children].map(([key, checks]) => [key, all(checks)] as const);
  return (value, path) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    const object = value as Record<string, unknown>;
    if (closed || rest.length > 0) {
      for (const key in object) {
        if (allowed.has(key)) continue;
        if (closed) return unknownKey(path, key, allowed);
        for (const check of rest) {
          const issue = check(object[key], propertyPath(path, key));
          if (issue) return issue;
        }
      }
    }
    for (const [key, check] of nested) {
      if (object[key] === undefined) continue;
      const issue = check?.(object[key], propertyPath(path, key));
      if (issue) return issue;
    }
    return undefined;
  };
}

function arrayCheck(sides: Sides, schema: JsonSchema, twin: JsonSchema | undefined): KeyCheck | undefined {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const twins = Array.isArray(twin?.prefixItems) ? twin.prefixItems : [];
  const first = prefix.map((item, index) => compile(sides, item, twins[index]));
  const items = compile(sides, schema.items, twin?.items);
  if (items === undefined && first.every((check) => check === undefined)) return undefined;
  return (value, path) => {
    if (!Array.isArray(value)) return undefined;
    for (let index = 0; index < value.length; index++) {
      const check = index < first.length ? first[index] : items;
      const issue = check?.(value[index], `${path}[${index}]`);
      if (issue) return issue;
    }
    return undefined;
  };
}

/** A union refuses a key only where every branch that could fit the value refuses one. */
function branchCheck(sides: Sides, schema: JsonSchema, twin: JsonSchema | undefined): KeyCheck | undefined {
  const list = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(list)) return undefined;
  const twins = twin?.anyOf ?? twin?.oneOf;
  const branches = list.map((item, index) => ({
    fits: fitsOf(resolveRef(item, sides.output), sides.output),
    check: compile(sides, item, Array.isArray(twins) ? twins[index] : undefined),
  }));
  if (branches.every((branch) => branch.check === undefined)) return undefined;
  return (value, path) => {
    let first: Issue | undefined;
    for (const { fits, check } of branches) {
      if (!fits(value)) continue;
      const issue = check?.(value, path);
      if (issue === undefined) return undefined;
      first ??= issue;
    }
    return first;
  };
}

function all(checks: readonly (KeyCheck | undefined)[]): KeyCheck | undefined {
  const [first, second, ...more] = checks.filter((check) => check !== undefined);
  if (first === undefined || second === undefined) return first;
  const rest = more.length === 0 ? second : all([second, ...more]);
  return (value, path) => first(value, path) ?? rest?.(value, path);
}

/** The parts of a schema that speak about keys: itself and what it joins by allOf, whose allowed keys add up. */
function membersOf(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema[] {
  const own = schema.properties !== undefined || schema.additionalProperties !== undefined ? [schema] : [];
  if (!Array.isArray(schema.allOf) || depth === 8) return own;
  const joined = schema.allOf.flatMap((item) => {
    const member = resolveRef(item, root);
    if (member === undefined) return [];
    const parts = membersOf(member, root, depth + 1);
    // A union in a join may take any key: what it allows is looked at nowhere, so it opens the object.
    return parts.length > 0 ? parts : [{ properties: {} }];
  });
  return [...own, ...joined];
}

function propertiesOf(schema: JsonSchema | undefined): { readonly [key: string]: unknown } {
  return isPlainObject(schema?.properties) ? schema.properties : {};
}

/** Whether a value could belong to a branch: kind of value, and constants such as a discriminator. */
function fitsOf(schema: JsonSchema | undefined, root: JsonSchema): (value: unknown) => boolean {
  if (schema === undefined) return () => true;
  const { type } = schema;
  const constants: [string, readonly unknown[]][] = [];
  for (const [key, child] of Object.entries(propertiesOf(schema))) {
    const property = resolveRef(child, root);
    if (property && 'const' in property) constants.push([key, [property.const]]);
    else if (property && Array.isArray(property.enum)) constants.push([key, property.enum]);
  }
  return (value) => {
    const object = isPlainObject(value) ? value : undefined;
    if (type === 'object' ? object === undefined : type === 'array' ? !Array.isArray(value) : false) return false;
    if (typeof type === 'string' && type !== 'object' && object !== undefined) return false;
    return object === undefined || constants.every(([key, values]) => !(key in object) || values.includes(object[key]));
  };
}

function closesSomewhere(node: unknown, depth: number): boolean {
  if (depth > 64 || node === null || typeof node !== 'object') return false;
  if (Array.isArray(node)) return node.some((item) => closesSomewhere(item, depth + 1));
  const schema = node as Record<string, unknown>;
  if (schema.additionalProperties === false) return true;
  for (const key in schema) {
    if (key === 'enum' || key === 'const' || key === 'default' || key === 'examples') continue;
    const child = schema[key];
    const nested = (NESTED as readonly string[]).includes(key) && isPlainObject(child) ? Object.values(child) : child;
    if (closesSomewhere(nested, depth + 1)) return true;
  }
  return false;
}

function unknownKey(path: string, key: string, allowed: ReadonlySet<string>): Issue {
  const names = [...allowed].slice(0, 20);
  const more = allowed.size > names.length ? ', …' : '';
  const short = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return {
    path: propertyPath(path, short),
    message: `unknown key; allowed: ${names.length === 0 ? 'none' : names.join(', ')}${more}`,
  };
}
