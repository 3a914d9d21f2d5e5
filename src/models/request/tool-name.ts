import { ConfigurationError } from '../../core/values/errors.ts';
import { sha256 } from '../../core/values/json.ts';
import type { ToolDefinition } from '../../core/values/model.ts';
import { oncePerFrozen } from './once-per-frozen.ts';

const LEGAL = /^[a-zA-Z0-9_-]+$/;

/**
 * A name or id as a provider takes it: letters, digits, `_` and `-`, at most `length` of them. A legal one stays as it
 * is, another gets a part of its hash. It depends on nothing but the name, so a replayed call is named as it was.
 */
export function legalName(name: string, length: number): string {
  if (name.length <= length && LEGAL.test(name)) return name;
  const legal = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, length - 9);
  return `${legal}_${sha256(name).slice(0, 8)}`;
}

/** Legal name → the tool's own name, for answers. Computed once per list of tools. */
export function toolNames(tools: readonly ToolDefinition[], length: number): ReadonlyMap<string, string> {
  let names = ofLength.get(length);
  if (names === undefined) {
    names = oncePerFrozen((list) => namesOf(list, length));
    ofLength.set(length, names);
  }
  return names(tools);
}

const ofLength = new Map<number, (tools: readonly ToolDefinition[]) => ReadonlyMap<string, string>>();

function namesOf(tools: readonly ToolDefinition[], length: number): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { name } of tools) {
    const legal = legalName(name, length);
    if (names.has(legal)) {
      throw new ConfigurationError('tools', `two tools are named ${legal}`, 'Rename one of them.');
    }
    names.set(legal, name);
  }
  return names;
}
