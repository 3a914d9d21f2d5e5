import { checkOptions, checkText } from '../../core/values/options.ts';
import { rebuiltRecords } from '../../journal/rebuilt-records.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { type AuditEntry, auditOf, type ChainedEntry, chainAudit } from '../../security/audit.ts';
import { readRun } from './resume-run.ts';

export interface AuditOptions {
  readonly journal: RecordStore;
  /** Gives each entry the hash of itself and of the one before. Default false. */
  readonly chain?: boolean | undefined;
  /** Keys these hashes (HMAC-SHA-256). */
  readonly key?: string | undefined;
}

/**
 * Every decision about a call of a run, whatever process made it: who or what allowed, asked, denied or answered it, and why.
 *
 * @throws ConfigurationError where the journal does not know the run, a JournalError where its records were changed.
 * @example for (const { key, tool, decision, by } of await auditRun(runId, { journal: sqlite('runs.db') })) console.log(key, tool, decision, by);
 */
export async function auditRun(
  runId: string,
  options: AuditOptions & { readonly chain: true },
): Promise<readonly ChainedEntry[]>;
export async function auditRun(runId: string, options: AuditOptions): Promise<readonly AuditEntry[]>;
export async function auditRun(runId: string, options: AuditOptions): Promise<readonly AuditEntry[]> {
  checkOptions('options', options, ['journal', 'chain', 'key']);
  const { journal, chain, key } = options;
  if (key !== undefined) checkText('options.key', key, 'Give the key as text.');
  const entries = auditOf(rebuiltRecords(await readRun(journal, runId)));
  return chain || key !== undefined ? chainAudit(entries, key) : entries;
}
