import { randomUUID } from 'node:crypto';
import type { MemoryUpkeep } from '../../core/contract/memory.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import type { Model } from '../../core/values/model.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { checkedFields, wholeOf } from '../file/memory-options.ts';
import { namespaceNumber } from '../file/versions.ts';
import type { LongTermMemory } from '../long-term-memory-type.ts';
import { checkJudge } from '../search/judge-agent.ts';
import { type ConsolidationOptions, consolidation } from './consolidation.ts';

/** When and how a memory is consolidated by itself, namespace by namespace. */
export interface ConsolidateOptions extends Omit<ConsolidationOptions, 'namespace' | 'since'> {
  readonly model: Model;
  /** What has to be new since the last time, whichever comes first; a session is a run that wrote something. */
  readonly after: { readonly entries?: number | undefined; readonly sessions?: number | undefined };
}

/** Beyond the time that a consolidation may take, so that it is over before another may begin. */
const SLACK_MS = 60_000;

/** @throws ConfigurationError that names the option. */
export function parseConsolidate(value: unknown): ConsolidateOptions {
  const at = 'longTermMemory.consolidate';
  const fields = checkedFields(value, at, ['after', 'model', 'instructions', 'limits', 'batch']);
  const after = checkedFields(fields.after, `${at}.after`, ['entries', 'sessions']);
  for (const name of ['entries', 'sessions'])
    if (after[name] !== undefined) wholeOf(after[name], `${at}.after.${name}`);
  if (after.entries === undefined && after.sessions === undefined) {
    throw new ConfigurationError(`${at}.after`, 'says nothing', 'Write { entries: 200 } or { sessions: 20 }.');
  }
  if (fields.model === undefined) {
    throw new ConfigurationError(
      `${at}.model`,
      'missing',
      'Give a model: nobody else names one when it starts by itself.',
    );
  }
  checkJudge(fields, at);
  if (fields.batch !== undefined) wholeOf(fields.batch, `${at}.batch`);
  // Every field was checked.
  return fields as unknown as ConsolidateOptions;
}

/**
 * The consolidation of a namespace, if it is due and no other process works on it. The caller holds a lease for its longest
 * duration; after a failure it is due again when the lease has expired.
 */
export async function upkeepOf(
  store: LongTermMemory,
  file: MemoryFile,
  namespace: string,
  options: ConsolidateOptions,
): Promise<MemoryUpkeep | undefined> {
  const { after, ...rest } = options;
  const holder = randomUUID();
  const timeMs = options.limits?.timeMs ?? DEFAULTS.timeMs;
  const lease = { holder, now: Date.now(), until: Date.now() + timeMs + SLACK_MS };
  const taken = file.transaction(() => takeLease(file, namespace, after, lease));
  if (taken === undefined) return undefined;
  return {
    agent: consolidation(store, { ...rest, ...taken, limits: { ...options.limits, timeMs }, namespace }),
    end: async (completed) => file.transaction(() => endLease(file, holder, completed)),
  };
}

interface Lease {
  readonly holder: string;
  readonly now: number;
  readonly until: number;
}

/** Where it is due it is now this holder's: since when it looks at what is new. Within a transaction. */
function takeLease(
  file: MemoryFile,
  name: string,
  { entries = Infinity, sessions = Infinity }: ConsolidateOptions['after'],
  { holder, now, until }: Lease,
): { readonly since: number } | undefined {
  const namespace = namespaceNumber(file, name);
  if (namespace === undefined) return undefined;
  const state = file.get<{ upto: number; since: number; began: number; until: number }>(
    'SELECT upto, since, began, until FROM upkeep WHERE namespace = ?',
    namespace,
  );
  // One that began later than now is of a clock that was set back since: it could last for years.
  if (state !== undefined && state.until > now && state.began < now) return undefined;
  const fresh = file.get<{ entries: number; sessions: number; last: number | null; first: number | null }>(
    `SELECT count(*) AS entries, count(DISTINCT run) AS sessions, max(number) AS last, min(valid_from) AS first FROM versions
     WHERE namespace = ? AND number > ? AND valid_to IS NULL AND opened_in IS NULL`,
    namespace,
    state?.upto ?? 0,
  );
  if (fresh === undefined || (fresh.entries < entries && fresh.sessions < sessions)) return undefined;
  file.run(
    `INSERT INTO upkeep (namespace, next, began, holder, until) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET next = excluded.next, began = excluded.began, holder = excluded.holder, until = excluded.until`,
    namespace,
    fresh.last,
    // What is written in this very millisecond may be read or not: it is looked at again.
    now - 1,
    holder,
    until,
  );
  // A clock that was set back dates what is new before what was looked at.
  return { since: Math.min(state?.since ?? 0, (fresh.first ?? 0) - 1) };
}

/** Gives a lease back, where this holder still has it. Within a transaction. */
function endLease(file: MemoryFile, holder: string, completed: boolean): void {
  if (completed)
    file.run('UPDATE upkeep SET upto = next, since = began, holder = NULL, until = 0 WHERE holder = ?', holder);
  else file.run('UPDATE upkeep SET holder = NULL WHERE holder = ?', holder);
}

/** What the namespaces of an operation have now counts as consolidated; within a transaction. */
export function catchUp(file: MemoryFile, operation: string): void {
  file.run(
    `UPDATE upkeep SET upto = (SELECT max(number) FROM versions) WHERE namespace IN (
       SELECT n.number FROM operations o JOIN namespaces n ON n.name = o.namespace
       WHERE o.name = ?1 OR substr(o.name, 1, length(?1) + 1) = ?1 || '/')`,
    operation,
  );
}
