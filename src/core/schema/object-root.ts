import { isPlainObject } from '../values/json.ts';
import { resolveRef } from './resolve-ref.ts';
import type { JsonSchema } from './schema.ts';

const TOP_ONLY = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', 'type', '$ref'];

/**
 * The schema as providers take it for a tool's parameters: `type: object` at the root and no union there (both large APIs
 * refuse one). A union of objects becomes one object with the properties of all and the required ones of every branch; the
 * description says which sets belong together, and the whole schema still judges the value. Undefined where a value that
 * is no object could fit.
 */
export function objectRoot(schema: JsonSchema, root: JsonSchema = schema, depth = 0): JsonSchema | undefined {
  const target = resolveRef(schema, root);
  if (target === undefined || depth > 8) return undefined;
  const { type } = target;
  if (type !== undefined && ![type].flat().includes('object')) return undefined;
  if ('const' in target || 'enum' in target) return undefined;
  const isUnion = ['anyOf', 'oneOf', 'allOf'].some((key) => Array.isArray(target[key]));
  const rest = Object.fromEntries(Object.entries(target).filter(([key]) => !TOP_ONLY.includes(key)));
  const named = target !== root && depth === 0 ? definitionsOf(root) : {};
  let merged: JsonSchema = { type: 'object', ...named, ...rest };
  if (!isUnion) return merged;

  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const list = target[key];
    if (!Array.isArray(list)) continue;
    const branches = list
      .map((item) => resolveRef(item, root))
      .filter((branch) => branch?.type !== 'null')
      .map((branch) => (branch === undefined ? undefined : objectRoot(branch, root, depth + 1)));
    const objects = branches.filter((branch) => branch !== undefined);
    if (objects.length !== branches.length || objects.length === 0) return undefined;
    merged = key === 'allOf' ? join(merged, objects) : union(merged, objects);
  }
  return merged;
}

function definitionsOf(root: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(root).filter(([key]) => key === '$defs' || key === 'definitions'));
}

function join(base: JsonSchema, parts: readonly JsonSchema[]): JsonSchema {
  const required = new Set([base, ...parts].flatMap(requiredOf));
  return withRequired({ ...base, properties: propertiesOf([base, ...parts]) }, [...required]);
}

function union(base: JsonSchema, branches: readonly JsonSchema[]): JsonSchema {
  const [first, ...others] = branches;
  if (first !== undefined && others.length === 0) return join({ ...first, ...base }, [first]);
  const everywhere = requiredOf(first ?? base).filter((key) =>
    others.every((branch) => requiredOf(branch).includes(key)),
  );
  const sets = branches.map(
    (branch) =>
      requiredOf(branch)
        .map((key) => constantText(branch, key))
        .join(' and ') || 'none',
  );
  const note = `Needed together: ${[...new Set(sets)].join(', or ')}.`;
  const description = typeof base.description === 'string' ? `${base.description}\n${note}` : note;
  const required = [...new Set([...requiredOf(base), ...everywhere])];
  return withRequired({ ...base, description, properties: propertiesOf([base, ...branches]) }, required);
}

function withRequired(schema: JsonSchema, required: readonly string[]): JsonSchema {
  return required.length === 0 ? schema : { ...schema, required };
}

function requiredOf(schema: JsonSchema): string[] {
  return Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === 'string') : [];
}

function constantText(branch: JsonSchema, key: string): string {
  const property = isPlainObject(branch.properties) ? branch.properties[key] : undefined;
  return isPlainObject(property) && 'const' in property ? `${key} = ${JSON.stringify(property.const)}` : key;
}

/** Properties of all, and where two differ either of them. */
function propertiesOf(schemas: readonly JsonSchema[]): JsonSchema {
  const found = new Map<string, JsonSchema[]>();
  for (const schema of schemas) {
    if (!isPlainObject(schema.properties)) continue;
    for (const [key, property] of Object.entries(schema.properties) as [string, JsonSchema][]) {
      const known = found.get(key) ?? [];
      const text = JSON.stringify(property);
      if (!known.some((other) => JSON.stringify(other) === text)) known.push(property);
      found.set(key, known);
    }
  }
  return Object.fromEntries([...found].map(([key, list]) => [key, either(list)]));
}

function either(list: readonly JsonSchema[]): JsonSchema {
  const [first] = list;
  if (list.length === 1 && first !== undefined) return first;
  const values = list.map((item) =>
    'const' in item ? [item.const] : Array.isArray(item.enum) ? item.enum : undefined,
  );
  if (values.every((item) => item !== undefined)) {
    const type = list.every((item) => item.type === first?.type) ? first?.type : undefined;
    return { ...(type === undefined ? {} : { type }), enum: [...new Set(values.flat())] } as JsonSchema;
  }
  return { anyOf: list };
}
