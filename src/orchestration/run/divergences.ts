import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { DivergenceError } from '../../core/values/errors.ts';
import type { Change } from '../../journal/divergence.ts';
import type { History } from '../../journal/history.ts';
import { divergenceError, leftoverError } from './divergence-error.ts';
import type { CheckedOptions } from './run-options.ts';
import { divergedNote } from './run-records.ts';

interface DivergenceParts {
  readonly options: Pick<CheckedOptions, 'onDivergence'>;
  readonly isReplay: boolean;
  readonly epoch: number;
  readonly journal: Journal;
  readonly history: History | undefined;
  readonly stops: Stops;
}

/** Where the code of now differs from the records: each difference is reported once, or ends the run. */
export class Divergences {
  readonly #run: DivergenceParts;
  #reported: Set<string> | undefined;

  constructor(run: DivergenceParts) {
    this.#run = run;
  }

  /** @throws DivergenceError where that is asked for, and in a replay. */
  report(self: Invocation, key: string, changes: readonly Change[]): void {
    const { options, isReplay, journal, epoch } = this.#run;
    if (options.onDivergence === 'stop' || isReplay) throw divergenceError(key, changes);
    this.#reported ??= new Set();
    const reported = this.#reported;
    const fresh = changes.map(({ part }) => part).filter((part) => !reported.has(`${self.agent} ${part}`));
    if (fresh.length === 0) return;
    for (const part of fresh) reported.add(`${self.agent} ${part}`);
    journal.note(divergedNote(self, key, epoch, fresh));
  }

  /** The error of a call that is not the recorded one. */
  error(key: string, changes: readonly Change[]): DivergenceError {
    return divergenceError(key, changes);
  }

  /**
   * Checks for records that the code did not ask for: it has changed. Those below a recorded stop are expected.
   *
   * @throws DivergenceError for the first of them.
   */
  checkLeftovers(): void {
    const { history, stops } = this.#run;
    const leftover = history?.leftover(({ key }) => stops.at(key) !== undefined);
    if (leftover !== undefined) throw leftoverError(leftover, history?.take(leftover.kind, leftover.key)?.started);
  }
}
