import { addUsage, type CallUsage, NO_USAGE, type Usage, usageOfCall } from '../core/usage.ts';
import type { StoredRun } from '../journal/record-store.ts';

/** What a run's model calls used, by its records; the cost where its result knows one. */
export function runSpent({ rows, result }: StoredRun): { readonly usage: Usage; readonly costUsd?: number } {
  let usage = NO_USAGE;
  for (const { kind, event, value } of rows) {
    if (kind !== 'model' || event !== 'done') continue;
    usage = addUsage(usage, usageOfCall((value as { readonly usage?: CallUsage } | undefined)?.usage)) ?? usage;
  }
  const costUsd = (result as { readonly costUsd?: unknown } | undefined)?.costUsd;
  return { usage, ...(typeof costUsd === 'number' && { costUsd }) };
}
