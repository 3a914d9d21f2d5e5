import { defineTool } from '../../core/call/define-tool.ts';
import type { Tool } from '../../core/contract/tool.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';

export type Shared = { readonly [key: string]: unknown };

export const NOTHING_SHARED: Shared = Object.freeze({});

/** A deep-frozen copy: the caller's object stays as it is. It holds what JSON can hold, so that a resume takes it from the record. */
export function copyShared(shared: unknown, field: string): Shared {
  if (shared === undefined) return NOTHING_SHARED;
  if (!isPlainObject(shared))
    throw new ConfigurationError(field, `expected an object, got ${shown(shared)}`, 'Give values by name.');
  return copy(shared, field, []) as Shared;
}

function copy(value: unknown, field: string, above: readonly unknown[]): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (above.includes(value))
    throw new ConfigurationError(field, 'a cycle', 'Shared values are data that JSON can hold.');
  const path = [...above, value];
  if (Array.isArray(value))
    return Object.freeze(value.map((item, index) => copy(item ?? null, `${field}[${index}]`, path)));
  if (!isPlainObject(value)) {
    throw new ConfigurationError(
      field,
      `got ${shown(value)}`,
      'Shared values are data that JSON can hold; pass clients and functions as deps.',
    );
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.freeze(Object.fromEntries(entries.map(([key, item]) => [key, copy(item, `${field}.${key}`, path)])));
}

/** Reads the run's shared store: there for each agent whose store is not empty. */
export const sharedRead: Tool = defineTool({
  name: 'shared_read',
  description: 'Reads a value that was shared with you. Without a key it lists the keys.',
  input: { type: 'object', properties: { key: { type: 'string' } }, additionalProperties: false },
  access: 'read',
  execute(input, { shared }) {
    const { key } = input as { key?: string };
    if (key === undefined) return Object.keys(shared);
    if (!Object.hasOwn(shared, key))
      return `There is no ${JSON.stringify(key)}. Keys are: ${Object.keys(shared).join(', ')}.`;
    return shared[key];
  },
});
