import { isReadKey, isSentKey } from '../../core/loop/mailbox.ts';
import type { Cancellation } from '../../core/runtime/cancellation.ts';
import type { Arrival, Inbox } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { isInboxKey } from '../../core/turn/arrivals.ts';
import { deepFreeze } from '../../core/values/json.ts';
import { readOnce, type TypedRow } from '../../journal/read-row.ts';
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
    else run.waits.deliver(signal.id, signal.decision, signal.time);
  }
}

/** What came in earlier epochs: what has entered or was read does not come again, what was sent and not read waits. */
export function restoreInbox(inbox: Inbox, rows: readonly TypedRow[]): void {
  const decided = rows.filter((row) => row.kind === 'once');
  for (const row of decided) {
    const { key } = row;
    if (isInboxKey(key)) remember(inbox, readOnce(row, key));
    if (isReadKey(key)) remember(inbox, readOnce(row, key).messages);
  }
  for (const row of decided) {
    const { key } = row;
    const sent = isSentKey(key) ? readOnce(row, key) : undefined;
    if (sent !== undefined && 'to' in sent) inbox.put(sent.to, { id: sent.id, message: deepFreeze(sent.message) });
  }
}

function remember(inbox: Inbox, arrivals: readonly Arrival[]): void {
  for (const { id } of arrivals) inbox.remember(id);
}
