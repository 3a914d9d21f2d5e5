import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { checkedFields, idOf, namespaceOf, stringOf, wholeOf } from '../file/memory-options.ts';
import { parseEntry, parseUpdate } from '../file/parse-entry.ts';
import { currentById } from '../file/versions.ts';
import type { Proposal, ProposalInput, Provenance } from '../long-term-memory-type.ts';

/** So many may wait in a namespace: a run that proposes without end must not bury the others. */
const MAX_WAITING = 1_000;

/** Stores a proposal; within a transaction. `body` is what add, update or remove would be given. */
export function insertProposal(file: MemoryFile, body: Omit<Proposal, 'id'>, now: number): Proposal {
  const { count } = file.get<{ count: number }>(
    'SELECT count(*) AS count FROM proposals WHERE namespace = ?',
    body.namespace,
  ) ?? { count: 0 };
  if (count >= MAX_WAITING) {
    throw new ConfigurationError('proposal', `${count} wait in this namespace already`, 'Accept or reject some first.');
  }
  const proposal: Proposal = { id: randomUUID(), ...body };
  file.run(
    'INSERT INTO proposals (id, namespace, created, body) VALUES (?, ?, ?, ?)',
    proposal.id,
    proposal.namespace,
    now,
    JSON.stringify(proposal),
  );
  return proposal;
}

const OPERATIONS: readonly unknown[] = ['add', 'update', 'remove'];

/** Parses what is proposed as it would be parsed if it were done. @throws ConfigurationError */
export function parseProposal(file: MemoryFile, value: ProposalInput): Omit<Proposal, 'id'> {
  const { operation } = checkedFields(value, 'proposal', ['operation', 'entry', 'id', 'update', 'version', 'source']);
  if (!OPERATIONS.includes(operation)) {
    throw new ConfigurationError('proposal.operation', 'is none', `Write one of ${OPERATIONS.join(', ')}.`);
  }
  if (value.operation === 'add') {
    const { id: _, version: __, ...memory } = parseEntry(value.entry, '').memory;
    return { operation: 'add', ...memory };
  }
  const row = currentById(file, idOf(value.id));
  if (row === undefined) throw new ConfigurationError('id', 'there is no such entry', 'Search for it again.');
  if (value.operation === 'remove') {
    const entry = { id: value.id, version: wholeOf(value.version, 'version') };
    return { operation: 'remove', namespace: row.name, source: stringOf({ ...value }, 'source', 'proposal'), entry };
  }
  const { version, changes } = parseUpdate(value.update);
  return { operation: 'update', namespace: row.name, source: row.source, ...changes, entry: { id: value.id, version } };
}

/** What waits, oldest first. */
export function proposalsIn(file: MemoryFile, namespace: string): Proposal[] {
  const name = namespaceOf({ namespace }, 'options');
  const rows = file.all<{ body: string }>(
    'SELECT body FROM proposals WHERE namespace = ? ORDER BY created, rowid',
    name,
  );
  return rows.map(({ body }) => JSON.parse(body) as Proposal);
}

/** Takes a proposal out; undefined where there is none of this id in this namespace. Within a transaction. */
export function takeProposal(file: MemoryFile, id: string, namespace: string | undefined): Proposal | undefined {
  const row = file.get<{ body: string; namespace: string }>('SELECT body, namespace FROM proposals WHERE id = ?', id);
  if (row === undefined || (namespace !== undefined && row.namespace !== namespace)) return undefined;
  file.run('DELETE FROM proposals WHERE id = ?', id);
  return JSON.parse(row.body) as Proposal;
}

/** Drops proposals for a removed entry: they could only fail, and may repeat its text. Within a transaction. */
export function dropProposalsFor(file: MemoryFile, entry: string): void {
  file.run("DELETE FROM proposals WHERE json_extract(body, '$.entry.id') = ?", entry);
}

/** Drops what came from a source, or carries an origin in its label; gives how many. Within a transaction. */
export function dropProposalsFrom(file: MemoryFile, { namespace, source, origin }: Provenance): number {
  return file.all(
    `DELETE FROM proposals WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR json_extract(body, '$.source') = ?2)
     AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.label.origins') WHERE value = ?3)) RETURNING id`,
    namespace ?? null,
    source ?? null,
    origin ?? null,
  ).length;
}
