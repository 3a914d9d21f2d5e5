import type { Cancellation } from '../../core/runtime/cancellation.ts';
import type { Inbox } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { TimedSignal } from '../../journal/record-store.ts';
import type { Waits } from '../../journal/waits.ts';
import { arrivalOf, readerOf } from './steer.ts';

interface SignalTarget {
  readonly root: Invocation;
  readonly inbox: Inbox;
  readonly waits: Waits;
  readonly cancellation: Cancellation;
}

/** Applies signals of other processes: decisions, stops, messages for a node. */
export function applySignals(run: SignalTarget, signals: readonly TimedSignal[]): void {
  for (const signal of signals) {
    if (signal.kind === 'cancel') run.cancellation.cancel(signal.path, signal.reason);
    else if (signal.kind === 'steer') run.inbox.put(readerOf(run.root, signal.path), arrivalOf(signal));
    else run.waits.tell(signal.id, signal.decision, signal.time);
  }
}
