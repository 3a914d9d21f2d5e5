import type { ModelTurn } from '../values/model.ts';
import { spendingOfCall } from '../values/spending.ts';
import { isRefused } from '../values/status.ts';
import { addUsage, usageOfCall } from '../values/usage.ts';
import type { Invocation } from './invocation.ts';
import type { Outcome } from './journal.ts';
import type { RunContext } from './run-context.ts';

/** Counts what a model call spent; `asked` is the model that was asked, where that is not the one that drives the invocation. */
export function countCall(
  run: Pick<RunContext, 'count'>,
  self: Invocation,
  outcome: Outcome<ModelTurn>,
  asked?: { readonly provider: string; readonly id: string },
): Outcome<ModelTurn> {
  const { usage, costUsd } = outcome.ok ? outcome.value : outcome.error;
  // Stopped or refused, and no attempt before has cost anything.
  const isNone = !outcome.ok && usage === undefined;
  if (!outcome.ok && outcome.isAsked === false) return outcome;
  if (isNone && (outcome.stop !== undefined || isRefused(outcome.error.kind))) return outcome;
  const by = (outcome.ok ? outcome.value.by : undefined) ?? asked;
  const spending = spendingOfCall(usage, costUsd, outcome.ok ? undefined : outcome.error.kind);
  const ofTree = addUsage(run.count.usage, spending.usage);
  if (ofTree !== undefined && self.spend(spending, by)) {
    run.count.usage = ofTree;
    return outcome;
  }
  // It was a call, and what it spent is unknown.
  self.spend(spendingOfCall(undefined, undefined, 'malformed_response'), by);
  run.count.usage = addUsage(run.count.usage, usageOfCall(undefined)) ?? run.count.usage;
  const message = 'the sum of reported tokens passes 2^53 − 1';
  return { ok: false, error: { kind: 'malformed_response', message, retryable: false } };
}
