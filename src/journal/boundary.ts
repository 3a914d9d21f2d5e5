import type { Draft } from '../core/contract/record.ts';
import { isInterruption } from '../core/values/status.ts';
import type { JournalParts } from './journal-parts.ts';
import type { EndRow, StartRow } from './read-row.ts';
import type { Row } from './row.ts';

/** Boundaries that open anew in each epoch, as long as they have no end. */
const REOPENS: ReadonlySet<string> = new Set(['run', 'agent', 'tool', 'wait']);

/**
 * The event and the attempt under which a boundary is stored: what was only interrupted has no end. The attempt is the epoch, since
 * an end that no longer holds may be stored under an earlier one. `records` is how many the run has.
 */
export function storedEvent(
  { epoch, cancellation }: Pick<JournalParts, 'epoch' | 'cancellation'>,
  draft: Draft,
  records: number,
): Pick<Row, 'event' | 'attempt'> {
  // One address may have several.
  if (draft.kind === 'gate') return { event: draft.event, attempt: records + 1 };
  return { event: cancellation.isInterrupted && isInterruptedEnd(draft) ? 'cancel' : draft.event, attempt: epoch };
}

/** The row of a boundary that is recorded already. */
export function recordedRow(
  { history, isReplay }: Pick<JournalParts, 'history' | 'isReplay'>,
  { kind, key, event }: Draft,
): StartRow | EndRow | undefined {
  // A note about a gate belongs to the attempt at hand, and a run that continues was not over.
  if (kind === 'gate' || (kind === 'run' && !isReplay)) return undefined;
  const recorded = history?.take(kind, key);
  if (recorded === undefined) return undefined;
  if (event !== 'started') return recorded.ended?.event === event ? recorded.ended : undefined;
  if (isReplay) return recorded.began;
  return recorded.ended === undefined && REOPENS.has(kind) ? undefined : recorded.started;
}

/** The start of what continues in a later epoch has that epoch as its attempt. */
export function reopened({ epoch, log }: Pick<JournalParts, 'epoch' | 'log'>, draft: Draft): Draft {
  return log !== undefined && draft.event === 'started' && REOPENS.has(draft.kind)
    ? { ...draft, attempt: epoch }
    : draft;
}

/** Whether a resume continues what ended here. */
function isInterruptedEnd(draft: Draft): boolean {
  if (draft.kind === 'agent' && draft.event === 'done') return isInterruption(draft.value.status);
  if (draft.kind !== 'tool' || draft.event === 'started' || draft.event === 'cancel') return false;
  return isInterruption(draft.value.error?.kind);
}
