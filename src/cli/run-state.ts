import { hostname } from 'node:os';
import { addSpending, costUsd, NOTHING_SPENT, type Spending, spendingOfCall } from '../core/values/spending.ts';
import { isRefused } from '../core/values/status.ts';
import type { Usage } from '../core/values/usage.ts';
import { readRows } from '../journal/read-row.ts';
import type { RunSummary, StoredRun } from '../journal/record-store.ts';
import { SILENT_MS } from '../journal/sqlite/owner.ts';

/** The facts about this machine that are used here. */
export interface Machine {
  readonly host: string;
  isRunning(pid: number): boolean;
}

/**
 * The state of a run: its status, but `died` if it is neither over nor suspended and its process has ended or has written nothing
 * for 15 s. `now` in milliseconds since 1970.
 */
export function runState(run: RunSummary, now: number, machine: Machine = THIS): string {
  const { status, owner, updated } = run;
  if (status !== 'running') return status;
  if (owner === undefined || now - updated >= SILENT_MS) return 'died';
  return owner.host === machine.host && !machine.isRunning(owner.pid) ? 'died' : 'running';
}

const THIS: Machine = {
  host: hostname(),
  isRunning(pid) {
    try {
      process.kill(pid, 0);
      return true;
    } catch (thrown) {
      // EPERM: the process exists and belongs to another user.
      return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
    }
  },
};

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
