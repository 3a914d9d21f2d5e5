import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';
import { isInterruption, type Stop } from '../../core/values/status.ts';
import type { History } from '../../journal/history.ts';
import { stopNote } from './run-records.ts';

interface StopsParts {
  readonly root: Invocation;
  readonly epoch: number;
  readonly stops: Stops;
  readonly journal: Journal;
  readonly history: History | undefined;
  readonly isReplay: boolean;
}

/** What ends a run or a part of it from outside of its loops, and what of that a resume comes to again. */
export class TreeStops {
  readonly #run: StopsParts;

  constructor(run: StopsParts) {
    this.#run = run;
  }

  /** Stops what is at and below a path, also in later epochs. */
  cancel(path: string, reason: string): void {
    const { stops } = this.#run;
    if (stops.at(path) !== undefined) return;
    this.#note(path, 'cancelled', reason);
    stops.add(path, { status: 'cancelled', reason });
  }

  /** A node's working time is over. A child's end is final, so a resume must come to it as well. */
  expire(self: Invocation, reason: string): void {
    const { root, stops } = this.#run;
    if (self !== root && stops.at(self.path) === undefined) this.#note(self.path, 'timeout', reason);
    stops.add(self.path, { status: 'timeout', reason });
  }

  /** A replay has come to what was never recorded: its end, unless a stop kept it from happening. */
  recordsEnd(key: string): void {
    const { root, stops, history } = this.#run;
    if (stops.at(key) !== undefined) return;
    stops.add(root.path, recordedStop(history) ?? { status: 'suspended', reason: 'The records end here.' });
  }

  /** In a replay: the stop that comes before an address that is not on record. */
  endsBefore(key: string): Stop | undefined {
    const { isReplay, journal, stops } = this.#run;
    if (!isReplay || journal.has(key)) return undefined;
    this.recordsEnd(key);
    return stops.at(key);
  }

  /** True once the run was stopped in a way that a resume takes up again. */
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
  const last = history?.rows.findLast(({ kind, event }) => kind === 'run' && event === 'done');
  const { status, error } = (last?.value ?? {}) as { readonly status?: string; readonly error?: ErrorRecord };
  if (error === undefined || (status !== 'timeout' && status !== 'aborted' && status !== 'cancelled')) return undefined;
  return { status, reason: error.message };
}
