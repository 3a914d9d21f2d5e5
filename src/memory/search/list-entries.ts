import { canonical, deepFreeze } from '../../core/values/json.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { checkedFields, namespaceOf, stringOf, wholeOf } from '../file/memory-options.ts';
import { type MemoryVersion, memoryVersionOf, type VersionRow } from '../file/versions.ts';

export interface ListOptions {
  readonly namespace: string;
  readonly kind?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface Namespace {
  readonly name: string;
  /** Current ones. */
  readonly entries: number;
}

const DEFAULT_LIMIT = 100;

/** Current entries of a namespace, the newest first. */
export function listEntries(file: MemoryFile, options: ListOptions): MemoryVersion[] {
  const fields = checkedFields(options, 'options', ['namespace', 'kind', 'limit', 'offset']);
  const namespace = namespaceOf(fields, 'options');
  const kind = fields.kind === undefined ? undefined : stringOf(fields, 'kind', 'options');
  const limit = fields.limit === undefined ? DEFAULT_LIMIT : wholeOf(fields.limit, 'options.limit');
  const offset = fields.offset === undefined || fields.offset === 0 ? 0 : wholeOf(fields.offset, 'options.offset');
  const rows = file.all<VersionRow>(
    `SELECT e.*, n.name FROM versions e JOIN namespaces n ON n.number = e.namespace
     WHERE n.name = ?1 AND e.valid_to IS NULL AND (?2 IS NULL OR EXISTS (
       SELECT 1 FROM facets f WHERE f.namespace = e.namespace AND f.key = '@kind' AND f.value = ?2 AND f.version = e.number))
     ORDER BY e.number DESC LIMIT ?3 OFFSET ?4`,
    namespace,
    kind === undefined ? null : canonical(kind),
    limit,
    offset,
  );
  return rows.map((row) => deepFreeze(memoryVersionOf(row)));
}

/** Namespaces by name, with how many current entries each has. */
export function namespacesOf(file: MemoryFile): Namespace[] {
  return file.all<Namespace>('SELECT name, entries FROM namespaces ORDER BY name');
}
