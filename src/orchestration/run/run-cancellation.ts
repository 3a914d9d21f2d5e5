import type { Cancellation } from '../../core/runtime/cancellation.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import { isInterruption, type Stop } from '../../core/values/status.ts';
import type { History } from '../../journal/history.ts';
import { stopNote } from './run-records.ts';

interface CancellationParts {
  readonly root: Invocation;
  readonly epoch: number;
  readonly stops: Stops;
  readonly journal: Journal;
  readonly history: History | undefined;
  readonly isReplay: boolean;
}

/** Ends a run or a part of it from outside of its loops, and records the ends that a resume must repeat. */
export class RunCancellation implements Cancellation {
  readonly #run: CancellationParts;

  constructor(run: CancellationParts) {
    this.#run = run;
  }

  cancel(path: string, reason: string): void {
    const { stops } = this.#run;
    if (stops.at(path) !== undefined) return;
    this.#note(path, 'cancelled', reason);
    stops.add(path, { status: 'cancelled', reason });
  }

  /** Ends a node whose time limit is reached. The end of a child is final, so it is recorded for a resume. */
  expire(self: Invocation, reason: string): void {
    const { root, stops } = this.#run;
    if (self !== root && stops.at(self.path) === undefined) this.#note(self.path, 'timeout', reason);
    stops.add(self.path, { status: 'timeout', reason });
  }

  /** Ends a replay at an address that has no record, unless a stop is the reason for that. */
  recordsEnd(key: string): void {
    const { root, stops, history } = this.#run;
    if (stops.at(key) !== undefined) return;
    stops.add(root.path, recordedStop(history) ?? { status: 'suspended', reason: 'The records end here.' });
  }

  endsBefore(key: string): Stop | undefined {
    const { isReplay, journal, stops } = this.#run;
    if (!isReplay || journal.has(key)) return undefined;
    this.recordsEnd(key);
    return stops.at(key);
  }

  /** True once the run was stopped in a way that a resume continues. */
  get isInterrupted(): boolean {
    const { root, stops } = this.#run;
    return isInterruption(stops.at(root.path)?.status);
  }

  #note(path: string, status: 'cancelled' | 'timeout', reason: string): void {
    const { root, epoch, journal } = this.#run;
    if (journal.isWatched) journal.note(stopNote(root, epoch, path, { status, reason }));
  }
}

/** What ended a recorded run from outside of its loop. */
function recordedStop(history: History | undefined): Stop | undefined {
  const last = history?.rows.findLast((row) => row.kind === 'run' && row.event === 'done');
  const { status, error } = last?.value ?? {};
  if (error === undefined || (status !== 'timeout' && status !== 'aborted' && status !== 'cancelled')) return undefined;
  return { status, reason: error.message };
}
