import { auditRun } from '../../orchestration/entry/audit-run.ts';
import type { AuditEntry } from '../../security/audit.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { report, visible } from '../visible.ts';

export interface AuditCommandOptions {
  readonly journal?: string;
  readonly chain?: boolean;
  readonly json?: boolean;
}

/** `cox audit`: the decisions of a run about its calls. COX_AUDIT_KEY keys the chain. */
export async function auditCommand(run: string, options: AuditCommandOptions): Promise<number> {
  const { store } = await openJournal(options.journal);
  try {
    const key = process.env.COX_AUDIT_KEY?.trim() || undefined;
    const entries = await auditRun(run, { journal: store, ...(options.chain && { chain: true, key }) });
    for (const entry of entries) process.stdout.write(options.json ? jsonLine(entry) : `${line(entry)}\n`);
    if (entries.length === 0) report('no decisions');
    return EXIT.done;
  } finally {
    store.close();
  }
}

function line(entry: AuditEntry & { readonly hash?: string }): string {
  const { time, key, tool, decision, by, asked, rule, reason, sandbox, hash } = entry;
  const why = [asked, rule === undefined ? undefined : `'${rule}'`, reason].filter((part) => part !== undefined);
  const facts = [...why, ...(sandbox === undefined ? [] : [`in ${sandbox}`])].join(', ');
  const parts = [
    time,
    decision.padEnd(8),
    by.padEnd(6),
    key,
    tool,
    facts === '' ? '' : `(${facts})`,
    hash?.slice(0, 12),
  ];
  return visible(parts.filter((part) => part !== undefined && part !== '').join('  '));
}
