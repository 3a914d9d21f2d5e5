import { ConfigurationError } from '../../core/values/errors.ts';
import { checkedFields, idOf, storedText, wholeOf } from '../file/memory-options.ts';
import type { ConsolidationChange } from '../long-term-memory-type.ts';

/** @throws ConfigurationError that names the field. */
export function parseChanges(value: unknown): ConsolidationChange[] {
  return listOf(value, 'changes').map((change, index) => {
    const at = `changes[${index}]`;
    const fields = checkedFields(change, at, ['entries', 'text']);
    const entries = listOf(fields.entries, `${at}.entries`).map((entry, entryIndex) => {
      const { id, version } = checkedFields(entry, `${at}.entries[${entryIndex}]`, ['id', 'version']);
      return {
        id: idOf(id, `${at}.entries[${entryIndex}].id`),
        version: wholeOf(version, `${at}.entries[${entryIndex}].version`),
      };
    });
    return fields.text === undefined ? { entries } : { entries, text: storedText(fields, 'text', at) };
  });
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ConfigurationError(at, 'expected a list', 'Write [{ entries: [{ id, version }, …], text }].');
}
