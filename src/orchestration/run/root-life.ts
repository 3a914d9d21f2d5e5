import type { RunIn } from '../../core/contract/boundary.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { Span } from '../../core/contract/record.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import type { Inbox } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { joinLabels } from '../../core/values/label.ts';
import { advanceTime } from '../../core/values/time.ts';
import type { History } from '../../journal/history.ts';
import type { KeyedJournal } from '../../journal/keyed.ts';
import type { RunLog } from '../../journal/record-store.ts';
import type { Opened } from '../../journal/recorder.ts';
import type { Waits } from '../../journal/waits.ts';
import type { Activity } from '../budget/activity.ts';
import { type Deadline, type DeadlineParts, deadlineOf } from '../budget/deadline.ts';
import { applySignals } from './apply-signals.ts';
import type { InitialInput } from './initial-input.ts';
import type { NodeLife } from './node-life.ts';
import type { Parking } from './parking.ts';
import type { RunCancellation } from './run-cancellation.ts';
import { runDone, runStarted } from './run-records.ts';

const NOTHING_OPENED: readonly Opened[] = [];

/** What the life of the root uses of its run. */
interface RootParts extends DeadlineParts {
  readonly root: Invocation;
  readonly limits: { readonly timeMs: number };
  readonly span: Span;
  readonly count: { readonly steps: number; readonly toolCalls: number };
  readonly log: RunLog | undefined;
  readonly history: History | undefined;
  readonly instrument: Instrument | undefined;
  readonly journal: KeyedJournal;
  readonly inbox: Inbox;
  readonly waits: Waits;
  readonly activity: Activity;
  readonly cancellation: RunCancellation;
  readonly parking: Parking;
  readonly nodes: NodeLife;
}

/** The run around its root: its spans, its two records, its deadline. */
export class RootLife {
  readonly #run: RootParts;
  #opened = NOTHING_OPENED;
  #deadline: Deadline | undefined;

  constructor(run: RootParts) {
    this.#run = run;
  }

  /** Opens the run's and the root's span in the caller's context; `begin` writes their records. Gives the time. */
  open(request: RunIn, initial: InitialInput): bigint {
    const { journal, root, span, instrument, nodes } = this.#run;
    if (request.under !== undefined) advanceTime(BigInt(request.under.since));
    else if (request.from === undefined) advanceTime(instrument?.notBefore?.() ?? 0n);
    const run = journal.open(runStarted(root, span, request));
    const opened = journal.open(nodes.started(root, initial));
    root.since = opened.time;
    this.#opened = [run, opened];
    return run.time;
  }

  /** Starts the root; `finish` or `clear` ends it. */
  begin(initial: InitialInput): Promise<AgentOutcome> {
    const { root, journal, history, log, nodes } = this.#run;
    // A model's loop reads the labels of its brief; a procedure has them from the start.
    if (root.definition.type === 'code')
      for (const { label } of initial.brief) if (label !== undefined) root.label = joinLabels(root.label, label);
    this.#limitTime();
    journal.noteOpened(this.#opened);
    this.#opened = NOTHING_OPENED;
    // Signals that came while no process ran it count from the start.
    if (history !== undefined) applySignals(this.#run, log?.signals() ?? []);
    return nodes.drive(root, initial);
  }

  #limitTime(): void {
    const { root, limits, activity } = this.#run;
    this.#deadline = deadlineOf(this.#run, root, Math.min(limits.timeMs, root.limits.timeMs ?? limits.timeMs));
    if (this.#deadline !== undefined) activity.add(this.#deadline);
  }

  finish(outcome: AgentOutcome, since: bigint): void {
    const { root, span, journal, nodes } = this.#run;
    nodes.over(root, outcome);
    journal.note(runDone(root, span, outcome, since, this.#run));
  }

  /** Leaves no timer behind. */
  clear(): void {
    const { inbox, log, activity, cancellation } = this.#run;
    inbox.clear(log !== undefined && cancellation.isInterrupted ? 'deferred' : 'lost');
    this.#deadline?.clear();
    activity.clear();
  }
}
