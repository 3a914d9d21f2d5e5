import type { EffectEnd, EffectKind } from '../contract/record.ts';
import type { Failure } from './journal.ts';

/** How an effect without a value is told. What was stopped did not fail: it has no outcome. */
export function effectFailed(kind: Exclude<EffectKind, 'tool'>, { error, stop }: Failure): EffectEnd {
  return { kind, event: stop === undefined ? 'failed' : 'cancel', value: error };
}
