import { isPlainObject } from '../values/json.ts';
import { atPointer } from '../values/json-pointer.ts';
import { resolveRef } from './resolve-ref.ts';
import type { JsonSchema } from './schema.ts';

/** Keywords whose schemas judge the same value as the schema that holds them. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * Whether a schema leads back to itself without going into the value: whoever checks a value by it never ends. What recurs
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
