import type { EffectEnd, EffectKind, Span } from '../contract/record.ts';
import { modelFailure } from '../values/check-turn.ts';
import { isA, ModelError, messageOf } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { ProcedureEffect } from './builtin-context.ts';
import type { Invocation } from './invocation.ts';
import type { Call, Failure } from './journal.ts';
import type { RunContext } from './run-context.ts';

/** An embedding, a memory read or write as a call of the port. */
export function plainEffect(
  run: Pick<RunContext, 'graceMs'>,
  at: { readonly key: string; readonly self: Invocation; readonly step: number; readonly parent: Span },
  effect: Omit<ProcedureEffect, 'id'>,
): Call<Json> {
  const { kind, sideEffect, timeoutMs, facts, retry, gate } = effect;
  return {
    ...at,
    kind,
    sideEffect,
    onUnknownOutcome: 'retry',
    timeoutMs,
    graceMs: run.graceMs,
    ...(retry !== undefined && { retry }),
    ...(gate !== undefined && { gate }),
    execute: (attempt) => effect.execute(attempt.signal),
    failure: (thrown) =>
      isA(thrown, ModelError) ? modelFailure(thrown) : { kind: 'threw', message: messageOf(thrown), retryable: false },
    started: () => ({ kind, event: 'started', request: facts }),
    ended: (outcome) => (outcome.ok ? { kind, event: 'done', value: outcome.value } : effectFailed(kind, outcome)),
  };
}

/** The end of an effect without a value, for views. What was stopped did not fail: it has no outcome. */
export function effectFailed(kind: Exclude<EffectKind, 'tool'>, { error, stop }: Failure): EffectEnd {
  return { kind, event: stop === undefined ? 'failed' : 'cancel', value: error };
}
