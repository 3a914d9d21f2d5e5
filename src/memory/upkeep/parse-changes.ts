import { ConfigurationError } from '../../core/values/errors.ts';
import { fieldsOf, idOf, textOf, wholeOf } from '../file/memory-options.ts';
import type { Change } from './operations.ts';

/** @throws ConfigurationError that names the field. */
export function parseChanges(value: unknown): Change[] {
  return listOf(value, 'changes').map((change, index) => {
    const at = `changes[${index}]`;
    const fields = fieldsOf(change, at, ['entries', 'text']);
    const entries = listOf(fields.entries, `${at}.entries`).map((entry, place) => {
      const { id, version } = fieldsOf(entry, `${at}.entries[${place}]`, ['id', 'version']);
      return {
        id: idOf(id, `${at}.entries[${place}].id`),
        version: wholeOf(version, `${at}.entries[${place}].version`),
      };
    });
    return fields.text === undefined ? { entries } : { entries, text: textOf(fields, 'text', at) };
  });
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ConfigurationError(at, 'expected a list', 'Write [{ entries: [{ id, version }, …], text }].');
}
