import type { SpanHandle, SpanStart } from '../core/contract/instrument.ts';
import type { Entry, RunRecord, Span } from '../core/contract/record.ts';
import { hasSpan } from '../core/contract/record-kinds.ts';
import { isValid } from './stored-record.ts';

/** The instrument's span that starts with a record, where its ids are valid. */
export function spanOf({
  kind,
  event,
  span: { handle },
}: {
  readonly kind: Entry['kind'];
  readonly event: Entry['event'];
  readonly span: Span;
}): SpanHandle | undefined {
  return handle !== undefined && startsSpan(kind, event) && isValid(handle) ? handle : undefined;
}

function startsSpan(kind: Entry['kind'], event: Entry['event']): boolean {
  return event === 'started' && hasSpan(kind);
}

/** Whether an instrument opens a span with a record. */
export function opensSpan(record: RunRecord): record is RunRecord & SpanStart {
  return startsSpan(record.kind, record.event);
}
