import type { AgentOutcome } from '../../core/contract/agent-outcome.ts';
import type { RunIn } from '../../core/contract/boundary.ts';
import { joinLabels } from '../../core/values/label.ts';
import { advanceTime } from '../../core/values/time.ts';
import type { Opened } from '../../journal/recorder.ts';
import type { Activity } from '../budget/activity.ts';
import { Deadline } from '../budget/deadline.ts';
import { applySignals } from './apply-signals.ts';
import type { InitialInput } from './initial-input.ts';
import type { NodeLife } from './node-life.ts';
import { runDone, runStarted } from './run-records.ts';
import type { RunTree } from './run-tree.ts';

const NOTHING_OPENED: readonly Opened[] = [];

/** The run around its root: its spans, its two records, its deadline. */
export class RootLife {
  readonly #run: RunTree;
  readonly #life: NodeLife;
  readonly #activity: Activity;
  #opened = NOTHING_OPENED;
  #deadline: Deadline | undefined;

  constructor(run: RunTree, life: NodeLife, activity: Activity) {
    this.#run = run;
    this.#life = life;
    this.#activity = activity;
  }

  /** Opens the run's and the root's span in the caller's context; `begin` writes their records. Gives the time. */
  open(request: RunIn, start: InitialInput): bigint {
    const { journal, root, span, instrument } = this.#run;
    if (request.under !== undefined) advanceTime(BigInt(request.under.since));
    else if (request.from === undefined) advanceTime(instrument?.notBefore?.() ?? 0n);
    const run = journal.open(runStarted(root, span, request));
    const opened = journal.open(this.#life.started(root, start));
    root.since = opened.time;
    this.#opened = [run, opened];
    return run.time;
  }

  /** Starts the root; `finish` or `clear` ends it. */
  begin(start: InitialInput): Promise<AgentOutcome> {
    const { root, journal, history, log } = this.#run;
    // A model's loop reads the labels of its brief; a procedure has them from the start.
    if (root.definition.type === 'code')
      for (const { label } of start.brief) if (label !== undefined) root.label = joinLabels(root.label, label);
    this.#limitTime();
    journal.tell(this.#opened);
    this.#opened = NOTHING_OPENED;
    // What was said while nobody ran it counts from the start.
    if (history !== undefined) applySignals(this.#run, log?.signals() ?? []);
    return this.#life.drive(root, start);
  }

  #limitTime(): void {
    const { root, limits, history, isReplay } = this.#run;
    if (isReplay) return;
    const timeMs = Math.min(limits.timeMs, root.limits.timeMs ?? limits.timeMs);
    this.#deadline = new Deadline(root, timeMs, this.#run, history?.worked(root.path));
    this.#activity.add(this.#deadline);
  }

  finish(outcome: AgentOutcome, since: bigint): void {
    const { root, span, journal } = this.#run;
    this.#life.over(root, outcome);
    journal.note(runDone(root, span, outcome, since, this.#run));
  }

  /** Leaves no timer behind. */
  clear(): void {
    const { inbox, log, isInterrupted } = this.#run;
    inbox.clear(log !== undefined && isInterrupted ? 'kept' : 'lost');
    this.#deadline?.clear();
    this.#activity.clear();
  }
}
