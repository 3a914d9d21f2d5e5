import { addSpending, costUsd, NOTHING_SPENT, type Spending, spendingOfCall } from '../core/values/spending.ts';
import { isRefused } from '../core/values/status.ts';
import type { Usage } from '../core/values/usage.ts';
import { readRows } from '../journal/read-row.ts';
import type { StoredRun } from '../journal/record-store.ts';

/**
 * Usage and cost of a run's model calls, from its records. The cost is present if that of each call is known; both include what a
 * forked run spent before the fork.
 */
export function runSpent({ rows }: StoredRun): { readonly usage: Usage; readonly costUsd?: number } {
  const calls = new Map<string, Spending>();
  for (const row of readRows(rows)) {
    if (row.kind !== 'model' || row.event === 'started') continue;
    const { usage, costUsd: cost } = row.value;
    const error = row.event === 'done' ? undefined : row.value.kind;
    const wasCalled = row.event === 'done' || (row.event === 'failed' && !isRefused(error));
    // The last record of a call has the usage and cost of all its attempts.
    if (wasCalled || usage !== undefined) calls.set(row.key, spendingOfCall(usage, cost, error));
  }
  let all = NOTHING_SPENT;
  for (const call of calls.values()) all = addSpending(all, call) ?? all;
  const cost = costUsd(all);
  return { usage: all.usage, ...(cost !== undefined && { costUsd: cost }) };
}
