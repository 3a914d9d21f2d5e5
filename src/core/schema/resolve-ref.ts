import { isPlainObject } from '../values/json.ts';
import type { JsonSchema } from './schema.ts';

/** The schema a local `$ref` leads to; undefined where there is none, or where the chain does not end. */
export function resolveRef(node: unknown, root: JsonSchema): JsonSchema | undefined {
  let schema = isPlainObject(node) ? node : undefined;
  for (let hops = 0; schema !== undefined && typeof schema.$ref === 'string'; hops++) {
    if (hops === 32 || !schema.$ref.startsWith('#')) return undefined;
    let target: unknown = root;
    for (const part of schema.$ref.slice(1).split('/').slice(1)) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      target = target !== null && typeof target === 'object' ? (target as Record<string, unknown>)[key] : undefined;
    }
    schema = isPlainObject(target) ? target : undefined;
  }
  return schema as JsonSchema | undefined;
}
