import { addSpending, costUsd, NOTHING_SPENT, spendingOfCall } from '../core/spending.ts';
import type { CallUsage, Usage } from '../core/usage.ts';
import type { StoredRun } from '../journal/record-store.ts';

/**
 * What a run's model calls used and cost, by its records. The cost is there where that of each call is known; of a fork both hold
 * what the other run spent before.
 */
export function runSpent({ rows }: StoredRun): { readonly usage: Usage; readonly costUsd?: number } {
  let all = NOTHING_SPENT;
  for (const { kind, event, value } of rows) {
    if (kind !== 'model' || event !== 'done') continue;
    const turn = (value ?? {}) as { readonly usage?: CallUsage; readonly costUsd?: number };
    all = addSpending(all, spendingOfCall(turn.usage, turn.costUsd)) ?? all;
  }
  const cost = costUsd(all);
  return { usage: all.usage, ...(cost !== undefined && { costUsd: cost }) };
}
