import { ConfigurationError } from '../values/errors.ts';
import { isPlainObject } from '../values/json.ts';
import { propertyPath } from '../values/json-pointer.ts';
import { short } from './issue-text.ts';

/** Keys that no JSON from outside may have: code that copies objects by their keys reaches prototypes through them. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Keywords whose keys are names of properties. */
const BY_PROPERTY: ReadonlySet<string> = new Set([
  ...['properties', 'dependentSchemas', 'dependentRequired', 'dependencies', 'patternProperties'],
]);
/** Keywords whose keys are names of schemas, which no value has. */
const BY_NAME: ReadonlySet<string> = new Set(['$defs', 'definitions']);
/** Keywords that hold values. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum']);
/** As far as it is read here; what is larger is refused when it is converted. */
const MAX_NODES = 50_000;
const MAX_DEPTH = 64;

/**
 * Refuses a JSON Schema that asks for a key which is forbidden in every value: its calls could never be made.
 *
 * @throws ConfigurationError that names the place.
 */
export function refuseForbiddenKeys(schema: unknown, field: string): void {
  let nodes = 0;
  const refuse = (path: string, key: string): never => {
    throw new ConfigurationError(
      field,
      `${short(path, 200)} of the JSON Schema has the key ${key}, which no call and no output may have`,
      'Give it another name.',
    );
  };
  const isTooLarge = (depth: number) => ++nodes > MAX_NODES || depth > MAX_DEPTH;

  const readValue = (value: unknown, path: string, depth: number): void => {
    if (isTooLarge(depth) || value === null || typeof value !== 'object') return;
    for (const [key, below] of Object.entries(value)) {
      if (!Array.isArray(value) && FORBIDDEN_KEYS.has(key)) refuse(path, key);
      readValue(below, path, depth + 1);
    }
  };

  const readSchema = (node: unknown, path: string, depth: number): void => {
    if (isTooLarge(depth)) return;
    if (Array.isArray(node)) for (const item of node) readSchema(item, path, depth + 1);
    if (!isPlainObject(node)) return;
    for (const [key, value] of Object.entries(node)) {
      const at = propertyPath(path, key);
      if (key === '__proto__') refuse(path, key);
      if (key === 'required') refuseNames(value, at);
      else if (VALUES.has(key)) readValue(value, at, depth + 1);
      else if (BY_PROPERTY.has(key) || BY_NAME.has(key)) readNamed(value, at, depth + 1, BY_PROPERTY.has(key));
      else readSchema(value, at, depth + 1);
    }
  };

  /** Of each name a schema, or with `dependentRequired` and `dependencies` a list of names. */
  const readNamed = (named: unknown, path: string, depth: number, isProperty: boolean): void => {
    if (isTooLarge(depth) || !isPlainObject(named)) return;
    for (const [name, value] of Object.entries(named)) {
      if (name === '__proto__' || (isProperty && FORBIDDEN_KEYS.has(plainName(name)))) refuse(path, plainName(name));
      if (isProperty) refuseNames(value, propertyPath(path, name));
      readSchema(value, propertyPath(path, name), depth + 1);
    }
  };

  const refuseNames = (names: unknown, path: string): void => {
    const found = Array.isArray(names) ? names.find((name) => FORBIDDEN_KEYS.has(name)) : undefined;
    if (found !== undefined) refuse(path, found);
  };

  readSchema(schema, '$', 0);
}

/** A pattern that stands for one name is that name. */
function plainName(name: string): string {
  return /^\^(\w+)\$$/.exec(name)?.[1] ?? name;
}
