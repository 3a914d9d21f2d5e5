import { treeFacts } from '../../agents/tree-facts.ts';
import { estimateTextTokens } from '../../context/estimate.ts';
import { readCompacted, readSummary } from '../../context/read-compacted.ts';
import { Window } from '../../context/window.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { DetachedChild, DetachedOutcome, Grant } from '../../core/contract/detached.ts';
import type { Hooks } from '../../core/contract/hooks.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { Span } from '../../core/contract/record.ts';
import { Inbox } from '../../core/runtime/inbox.ts';
import { Invocation } from '../../core/runtime/invocation.ts';
import type { ContextWindows, RunContext } from '../../core/runtime/run-context.ts';
import { Stops } from '../../core/runtime/stops.ts';
import { deepFreeze } from '../../core/values/json.ts';
import { TRUSTED } from '../../core/values/label.ts';
import type { Redact } from '../../core/values/redact-message.ts';
import { NO_USAGE } from '../../core/values/usage.ts';
import type { Beginning } from '../../journal/beginning.ts';
import type { History } from '../../journal/history.ts';
import { KeyedJournal } from '../../journal/keyed.ts';
import type { RunLog } from '../../journal/record-store.ts';
import { traceIdOf } from '../../journal/stored-record.ts';
import { Waits } from '../../journal/waits.ts';
import { PermissionStep } from '../approvals/permission-step.ts';
import { Activity } from '../budget/activity.ts';
import { BudgetNotes } from '../budget/budget-notes.ts';
import { Gate } from '../budget/gate.ts';
import { Ledger } from '../budget/ledger.ts';
import { Limiter } from '../budget/limiter.ts';
import { applySignals, restoreInbox } from './apply-signals.ts';
import { Children, narrow } from './children.ts';
import { Divergences } from './divergences.ts';
import { NodeLife } from './node-life.ts';
import { Parking } from './parking.ts';
import { RootLife } from './root-life.ts';
import { RunCancellation } from './run-cancellation.ts';
import { type FollowUp, RunMemories } from './run-memories.ts';
import { guardedInstrument, observerErrors, RunObservers } from './run-observers.ts';
import { type CheckedOptions, withDefaults } from './run-options.ts';
import { RunQuestions } from './run-questions.ts';
import { runSpan } from './run-records.ts';
import { RunSources } from './run-sources.ts';
import { RunTools } from './run-tools.ts';
import type { Shared } from './shared-store.ts';
import { TreeModels } from './tree-models.ts';

/** Starts other runs for a run. Injected, since it imports what makes runs. */
export interface RunStarter {
  /** Runs a detached child in this process. */
  runHere(child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome>;
  /** Does the work that follows the run; resolves once it is stored, `over` when it is done. Neither rejects. */
  afterRun(followUp: FollowUp): Promise<{ readonly over: Promise<void> }>;
}

const CONTEXT: ContextWindows = {
  selector: (options) => new Window(options),
  readCompacted: readCompacted,
  readSummary,
  estimate: estimateTextTokens,
};

/** A run's tree in this process: its facts, and the collaborators that work on them. Each is given what it uses of the others. */
export class RunTree implements RunContext {
  /** Of another run, where a resume continues in a fork. */
  id: string;
  root: Invocation;
  readonly options: CheckedOptions;
  /** Set in the run of a detached child: what it was granted. */
  readonly child: DetachedChild | undefined;
  limits: CheckedOptions['limits'];
  epoch = 1;
  log: RunLog | undefined;
  history: History | undefined;
  isReplay = false;
  /** The run whose records this one began with; in the epoch in which it did. */
  forkedFrom: string | undefined;
  readonly count = { steps: 0, toolCalls: 0, agents: 1, usage: NO_USAGE };
  readonly span: Span = runSpan();
  readonly deps: unknown;
  readonly graceMs: number;
  readonly hooks: Hooks<never> | undefined;
  readonly redact: Redact | undefined;
  /** Undefined where the instrument wants nothing of this run. */
  readonly instrument: Instrument | undefined;
  /** Reports the error of a view, a listener or the instrument. */
  readonly observerFailed: (error: unknown) => void;

  readonly starter: RunStarter;
  readonly stops = new Stops();
  readonly inbox = new Inbox();
  readonly memories = new RunMemories();
  readonly sources = new RunSources();
  readonly context = CONTEXT;
  readonly observers = new RunObservers(this);
  readonly cancellation = new RunCancellation(this);
  readonly divergences = new Divergences(this);
  readonly models = new TreeModels(this);
  readonly tools = new RunTools(this);
  readonly questions = new RunQuestions(this);
  readonly parking = new Parking(this);
  readonly activity = new Activity(this.parking);
  readonly waits = new Waits(this.stops, this.activity);
  readonly nodes = new NodeLife(this);
  readonly life = new RootLife(this);
  readonly children = new Children(this);
  readonly journal = new KeyedJournal(this);
  readonly permissions: PermissionStep;
  /** Once per call, retries included. */
  perCall: readonly [Ledger];
  /** Once per attempt. */
  readonly perAttempt: readonly [Gate];
  readonly #notes = new BudgetNotes(this);

  constructor(
    id: string,
    agent: Agent,
    options: CheckedOptions,
    starterOf: (tree: RunTree) => RunStarter,
    child?: DetachedChild,
  ) {
    this.id = id;
    this.starter = starterOf(this);
    this.options = options;
    this.child = child;
    this.limits = options.limits;
    this.deps = options.deps;
    this.graceMs = options.graceMs;
    this.hooks = options.hooks;
    this.redact = options.redact;
    this.observerFailed = observerErrors(id, options);
    this.instrument = guardedInstrument(options.instrument, this.observerFailed);
    this.perCall = [new Ledger(options.limits, this.#notes)];
    this.perAttempt = [new Gate(new Limiter(options.limits.concurrency), this.#notes)];
    this.permissions = new PermissionStep(this);
    this.root = rootNode(agent, options.shared, this.span, child?.grant);
    this.permissions.enter(this.root, undefined);
    for (const { id, decision } of child?.answers ?? []) this.waits.deliver(id, decision, Date.now());
  }

  get traceId(): string {
    return traceIdOf(this, this.root.span);
  }

  /** Keeps the records of a new run. */
  attach(log: RunLog): void {
    this.log = log;
    this.epoch = log.epoch;
    this.journal.attach(log);
    log.onSignal = () => applySignals(this, log.signals());
    log.onFailure = (error) => this.stops.add(this.root.path, { status: 'cancelled', reason: error.message });
  }

  /** Continues from records: limits, shared values, spendings and stops are theirs. */
  restore(history: History, beginning: Beginning): void {
    this.history = history;
    this.limits = withDefaults({ ...beginning.limits, ...this.options.givenLimits });
    this.root = rootNode(this.root.definition, deepFreeze(beginning.shared), this.span, this.child?.grant);
    this.permissions.enter(this.root, undefined);
    this.perCall = [new Ledger(this.limits, this.#notes, history)];
    this.permissions.remember(history.rows, treeFacts(this.root.definition).tools);
    Object.assign(this.count, {
      steps: history.steps,
      toolCalls: history.toolCalls,
      agents: Math.max(1, history.agents),
    });
    for (const { path, stop } of history.stops) this.stops.add(path, stop);
    restoreInbox(this.inbox, history.rows);
  }

  /** Shows records again and lets nothing new happen. */
  replay(history: History, beginning: Beginning, model: 'as recorded' | 'of the code' = 'as recorded'): void {
    this.restore(history, beginning);
    this.isReplay = true;
    this.models.remembers = model === 'as recorded';
    this.epoch = history.rows.at(-1)?.epoch ?? 1;
  }
}

/** The root of a run; that of a detached child as its grant narrows it. `run` is the span of the run itself. */
function rootNode(agent: Agent, shared: Shared, run: Span, grant: Grant | undefined): Invocation {
  const { agents, open } = treeFacts(agent);
  // The run of a lone agent is its own span, and so is that of a detached child.
  const isTeam = (agents.size > 1 || open) && grant === undefined;
  const span = isTeam ? { key: agent.name, parent: run, handle: undefined } : run;
  const facts = { path: agent.name, definition: agent, parent: undefined, parentStep: undefined, span };
  const labels = { sharedLabel: grant?.shared.label ?? TRUSTED, label: grant?.label ?? TRUSTED };
  const limits = grant === undefined ? agent.limits : narrow(agent.limits, grant.own);
  return new Invocation({ ...facts, limits, shared, ...labels });
}
