import { addSpending, costUsd, NOTHING_SPENT, type Spending, spendingOfCall } from '../core/values/spending.ts';
import { isRefused } from '../core/values/status.ts';
import type { CallUsage, Usage } from '../core/values/usage.ts';
import type { StoredRun } from '../journal/record-store.ts';

/**
 * What a run's model calls used and cost, by its records. The cost is there where that of each call is known; of a fork both hold
 * what the other run spent before.
 */
export function runSpent({ rows }: StoredRun): { readonly usage: Usage; readonly costUsd?: number } {
  const calls = new Map<string, Spending>();
  for (const { key, kind, event, value } of rows) {
    if (kind !== 'model' || event === 'started') continue;
    const spent = (value ?? {}) as { readonly kind?: string; readonly usage?: CallUsage; readonly costUsd?: number };
    const error = event === 'done' ? undefined : (spent.kind ?? 'unknown');
    const wasAsked = event === 'done' || (event === 'failed' && !isRefused(error));
    // The last record of a call holds what all its attempts cost.
    if (wasAsked || spent.usage !== undefined) calls.set(key, spendingOfCall(spent.usage, spent.costUsd, error));
  }
  let all = NOTHING_SPENT;
  for (const call of calls.values()) all = addSpending(all, call) ?? all;
  const cost = costUsd(all);
  return { usage: all.usage, ...(cost !== undefined && { costUsd: cost }) };
}
