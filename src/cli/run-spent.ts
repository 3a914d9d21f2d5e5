import { addSpending, costUsd, NOTHING_SPENT, type Spending, spendingOfCall } from '../core/values/spending.ts';
import { isRefused } from '../core/values/status.ts';
import type { Usage } from '../core/values/usage.ts';
import { readRows } from '../journal/read-row.ts';
import type { StoredRun } from '../journal/record-store.ts';

/**
 * What a run's model calls used and cost, by its records. The cost is there where that of each call is known; of a fork both hold
 * what the other run spent before.
 */
export function runSpent({ rows }: StoredRun): { readonly usage: Usage; readonly costUsd?: number } {
  const calls = new Map<string, Spending>();
  for (const row of readRows(rows)) {
    if (row.kind !== 'model' || row.event === 'started') continue;
    const { usage, costUsd: cost } = row.value;
    const error = row.event === 'done' ? undefined : row.value.kind;
    const wasAsked = row.event === 'done' || (row.event === 'failed' && !isRefused(error));
    // The last record of a call holds what all its attempts cost.
    if (wasAsked || usage !== undefined) calls.set(row.key, spendingOfCall(usage, cost, error));
  }
  let all = NOTHING_SPENT;
  for (const call of calls.values()) all = addSpending(all, call) ?? all;
  const cost = costUsd(all);
  return { usage: all.usage, ...(cost !== undefined && { costUsd: cost }) };
}
