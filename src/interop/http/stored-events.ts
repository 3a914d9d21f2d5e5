import type { RunEvent } from '../../core/contract/event.ts';
import { eventState, eventsOf } from '../../core/contract/events.ts';
import { isFinal } from '../../core/values/status.ts';
import { rebuiltRecords } from '../../journal/rebuilt-records.ts';
import type { StoredRun } from '../../journal/record-store.ts';

/** The events of a run's records, for a client of a process that did not execute the run. */
export function storedEvents(run: StoredRun): readonly Omit<RunEvent, 'seq'>[] {
  const state = eventState();
  const events = rebuiltRecords(run).flatMap((record) => eventsOf(record, state));
  const last = isFinal(run.status) ? events.at(-1) : undefined;
  // A run that was stopped with its process is resumed: `aborted` was not its end.
  return events.filter((event) => event.type !== 'run.end' || event === last);
}
