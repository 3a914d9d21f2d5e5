import { checkTools } from '../../agents/define-agent.ts';
import { treeFacts } from '../../agents/tree-facts.ts';
import { compacted } from '../../context/compacted.ts';
import { readSummary } from '../../context/read-summary.ts';
import { estimateTextTokens, Window, type WindowOptions } from '../../context/window.ts';
import type { ToolCallEffect } from '../../core/call/tool-call.ts';
import type { Agent, ModelAgent } from '../../core/contract/agent.ts';
import type { AgentOutcome } from '../../core/contract/agent-outcome.ts';
import type { RunIn } from '../../core/contract/boundary.ts';
import type { DetachedChild, Grant, RunDetached } from '../../core/contract/detached.ts';
import type { Hooks } from '../../core/contract/hooks.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { Span } from '../../core/contract/record.ts';
import type { Delegate, Progress, Tool } from '../../core/contract/tool.ts';
import { Inbox } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Call, Outcome } from '../../core/runtime/journal.ts';
import type { ChildCall, Permit, PermitQuery, RunContext } from '../../core/runtime/run-context.ts';
import type { Selector } from '../../core/runtime/selector.ts';
import { Stops } from '../../core/runtime/stops.ts';
import type { Schema } from '../../core/schema/schema.ts';
import type { DivergenceError } from '../../core/values/errors.ts';
import { deepFreeze } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import type { Limits } from '../../core/values/limits.ts';
import type { Model, ModelDelta } from '../../core/values/model.ts';
import type { Stop } from '../../core/values/status.ts';
import { NO_USAGE } from '../../core/values/usage.ts';
import type { Beginning } from '../../journal/beginning.ts';
import type { Change } from '../../journal/divergence.ts';
import type { History } from '../../journal/history.ts';
import type { JournalParts } from '../../journal/journal-parts.ts';
import { KeyedJournal } from '../../journal/keyed.ts';
import type { RunLog } from '../../journal/record-store.ts';
import { traceIdOf } from '../../journal/stored-record.ts';
import { Waits } from '../../journal/waits.ts';
import { costOf, worstCostOf } from '../../models/prices.ts';
import { resultLabel } from '../../security/result-label.ts';
import { type PermissionParts, PermissionStep } from '../approvals/permission-step.ts';
import { Activity } from '../budget/activity.ts';
import { Deadline } from '../budget/deadline.ts';
import { Gate, type GateNote } from '../budget/gate.ts';
import { grantFor, heldFor } from '../budget/grant.ts';
import { Ledger, type Reached } from '../budget/ledger.ts';
import { Limiter } from '../budget/limiter.ts';
import { detachedRunner } from '../detached/detached-runner.ts';
import type { DetachedParts } from '../detached/drive-detached.ts';
import { applySignals } from './apply-signals.ts';
import { find } from './child.ts';
import { Children, type ChildrenParts, type Detached, type Started } from './children.ts';
import { divergenceError } from './divergence-error.ts';
import { Divergences } from './divergences.ts';
import { grantedTools } from './granted-tools.ts';
import { guardedInstrument } from './guarded-instrument.ts';
import type { InitialInput } from './initial-input.ts';
import { NodeLife } from './node-life.ts';
import { observerErrors } from './observer-errors.ts';
import { Parking } from './parking.ts';
import { restoreInbox } from './restore-inbox.ts';
import { RootLife } from './root-life.ts';
import { rootNode } from './root-node.ts';
import { RunMemories } from './run-memories.ts';
import { type CheckedOptions, withDefaults } from './run-options.ts';
import { gateNote, limitNote, runSpan } from './run-records.ts';
import { RunSources } from './run-sources.ts';
import { sharedRead } from './shared-store.ts';
import type { Sink } from './sink.ts';
import { TreeModels } from './tree-models.ts';
import { TreeStops } from './tree-stops.ts';

/** A run's tree in this process: composes the rooms into what loops and procedures reach. */
export class RunTree implements RunContext, JournalParts, PermissionParts, ChildrenParts, DetachedParts {
  /** Of another run, where a resume goes on in a fork. */
  id: string;
  root: Invocation;
  readonly options: CheckedOptions;
  readonly stops = new Stops();
  readonly inbox = new Inbox();
  readonly waits: Waits;
  readonly journal: KeyedJournal;
  readonly count = { steps: 0, toolCalls: 0, agents: 1, usage: NO_USAGE };
  limits: CheckedOptions['limits'];
  epoch = 1;
  log: RunLog | undefined;
  history: History | undefined;
  isReplay = false;
  /** The run whose records this one began with; in the epoch in which it did. */
  forkedFrom: string | undefined;
  readonly sink: Sink = { record: undefined, delta: undefined, progress: undefined };
  readonly span: Span = runSpan();
  perCall: readonly [Ledger];
  readonly perAttempt: readonly [Gate];
  readonly memories = new RunMemories();
  readonly sources = new RunSources();
  /** Where it wants to be shown something of this run. */
  readonly instrument: Instrument | undefined;
  /** Tells what a view, a listener or the instrument failed with. */
  readonly observerFailed: (error: unknown) => void;
  readonly #activity: Activity;
  readonly #permissions: PermissionStep;
  #gateNotes = 0;
  readonly #children: Children;
  readonly #models = new TreeModels(this);
  readonly #ends = new TreeStops(this);
  readonly #divergences = new Divergences(this);
  readonly #parking = new Parking(this);
  readonly #life = new NodeLife(this, this.#models);
  readonly #rootLife: RootLife;

  readonly costOf = costOf;
  readonly worstCostOf = worstCostOf;
  readonly readCompacted = compacted;
  readonly readSummary = readSummary;
  readonly estimate = estimateTextTokens;
  /** Where it is a detached child: what it was granted. */
  readonly child: DetachedChild | undefined;

  constructor(id: string, agent: Agent, options: CheckedOptions, child?: DetachedChild) {
    this.id = id;
    this.options = options;
    this.child = child;
    this.observerFailed = observerErrors(id, options);
    this.instrument = guardedInstrument(options.instrument, this.observerFailed);
    this.limits = options.limits;
    this.#activity = new Activity(this);
    this.waits = new Waits(this.stops, this.#activity);
    this.perCall = [new Ledger(options.limits, this)];
    this.perAttempt = [new Gate(new Limiter(options.limits.concurrency), this)];
    this.journal = new KeyedJournal(this);
    this.#permissions = new PermissionStep(this);
    this.#children = new Children(this, this.#activity);
    this.#rootLife = new RootLife(this, this.#life, this.#activity);
    this.root = rootNode(agent, options.shared, this.span, child?.grant);
    this.#permissions.enter(this.root, undefined);
    for (const { id, decision } of child?.answers ?? []) this.waits.tell(id, decision, Date.now());
  }

  /** Keeps the records of a new run. */
  attach(log: RunLog): void {
    this.log = log;
    this.epoch = log.epoch;
    this.journal.attach(log);
    log.onSignal = () => applySignals(this, log.signals());
    log.onFailure = (error) => this.stops.add(this.root.path, { status: 'cancelled', reason: error.message });
  }

  /** Goes on from records: limits, shared values, spendings and stops are theirs. */
  restore(history: History, past: Beginning): void {
    this.history = history;
    this.limits = withDefaults({ ...past.limits, ...this.options.givenLimits });
    this.root = rootNode(this.root.definition, deepFreeze(past.shared), this.span, this.child?.grant);
    this.#permissions.enter(this.root, undefined);
    this.perCall = [new Ledger(this.limits, this, history)];
    this.#permissions.remember(history.rows, treeFacts(this.root.definition).tools);
    Object.assign(this.count, {
      steps: history.steps,
      toolCalls: history.toolCalls,
      agents: Math.max(1, history.agents),
    });
    for (const { path, stop } of history.stops) this.stops.add(path, stop);
    restoreInbox(this.inbox, history.rows);
  }

  /** Shows records again and lets nothing new happen. */
  replay(history: History, past: Beginning, model: 'as recorded' | 'of the code' = 'as recorded'): void {
    this.restore(history, past);
    this.isReplay = true;
    this.#models.remembers = model === 'as recorded';
    this.epoch = history.rows.at(-1)?.epoch ?? 1;
  }

  cancel(path: string, reason: string): void {
    this.#ends.cancel(path, reason);
  }

  expire(self: Invocation, reason: string): void {
    this.#ends.expire(self, reason);
  }

  recordsEnd(key: string): void {
    this.#ends.recordsEnd(key);
  }

  endsBefore(key: string): Stop | undefined {
    return this.#ends.endsBefore(key);
  }

  get isInterrupted(): boolean {
    return this.#ends.isInterrupted;
  }

  diverged(self: Invocation, key: string, changes: readonly Change[]): void {
    this.#divergences.report(self, key, changes);
  }

  divergence(key: string, changes: readonly Change[]): DivergenceError {
    return divergenceError(key, changes);
  }

  checkLeftovers(): void {
    this.#divergences.checkLeftovers();
  }

  askDoubt(call: Call<never>, attempt: number): Promise<Outcome<Decision>> {
    return this.#permissions.askDoubt(call as unknown as ToolCallEffect, attempt);
  }

  get permissions() {
    return this.options.permissions;
  }
  get rules() {
    return this.options.rules;
  }
  get endorse() {
    return this.#permissions.endorse;
  }
  get scopes() {
    return this.options.scopes;
  }
  get approve() {
    return this.options.approve;
  }
  get traceId(): string {
    return traceIdOf(this, this.root.span);
  }
  get trust(): ReadonlySet<string> {
    return this.options.trust;
  }
  get granted(): Grant | undefined {
    return this.child?.grant;
  }
  get deps(): unknown {
    return this.options.deps;
  }
  get hooks(): Hooks<never> | undefined {
    return this.options.hooks;
  }
  get graceMs(): number {
    return this.options.graceMs;
  }
  get redact() {
    return this.options.redact;
  }
  get listening(): boolean {
    return this.sink.delta !== undefined;
  }

  modelOf(self: Invocation, agent: ModelAgent): Model {
    return this.#models.of(self, agent);
  }

  contextTokens(model: Model): number | undefined {
    return this.#models.contextTokens(model);
  }

  selector(options: WindowOptions): Selector {
    return new Window(options);
  }

  toolsOf(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[] {
    const granted = grantedTools(this, self, own, agent);
    const offered = this.sources.offeredTo(self);
    if (offered.length === 0) return this.#permissions.allowed(self, granted);
    const all = [...granted, ...offered];
    // A server must not stand in for a tool of the agent, nor for one that follows from a grant.
    checkTools(`agent ${agent.name}.tools`, all);
    this.#permissions.checkOffered(self, all);
    return this.#permissions.allowed(self, all);
  }

  offers(self: Invocation, agent: ModelAgent): Promise<void> | undefined {
    return agent.sources.length === 0 ? undefined : this.sources.ask(this, self, agent.sources);
  }

  permit(query: PermitQuery): Permit | Promise<Permit> {
    return this.#permissions.permit(query);
  }

  resultLabel(tool: Tool, self: Invocation): Label {
    return tool === sharedRead ? self.sharedLabel : resultLabel(tool, this.options.trust);
  }

  /** Opens the run's and the root's span in the caller's context; `begin` writes their records. Gives the time. */
  open(request: RunIn, start: InitialInput): bigint {
    return this.#rootLife.open(request, start);
  }

  /** Resolves when no node at or below a path is at work. */
  async ended(path: string): Promise<void> {
    await find(this.root, path)?.ended;
  }

  activity(self: Invocation, by: 1 | -1): void {
    this.#activity.busy(self, by);
  }

  underWay(isAny: boolean): void {
    this.#parking.underWay(isAny);
  }

  /** After a person's answer: what was given back for the wait is taken again. */
  async resumed(self: Invocation): Promise<void> {
    await this.#children.retake(self);
  }

  /** Starts the root; `finish` or `clear` ends it. */
  begin(start: InitialInput): Promise<AgentOutcome> {
    return this.#rootLife.begin(start);
  }

  finish(outcome: AgentOutcome, since: bigint): void {
    this.#rootLife.finish(outcome, since);
  }

  /** Of the caps of the run and its root, what nobody has spent. What a detached child leaves is its parent's. */
  left(): Limits {
    const left = this.perCall[0].left(this.root);
    return this.child === undefined ? left : Object.fromEntries(Object.keys(left).map((name) => [name, 0]));
  }

  clear(): void {
    this.#rootLife.clear();
  }

  start(child: ChildCall): Started {
    return this.#children.start(child);
  }

  async invoke(child: ChildCall): Promise<AgentOutcome> {
    return this.#children.start(child).outcome;
  }

  enter(self: Invocation, delegate: Delegate | undefined): void {
    this.#permissions.enter(self, delegate);
  }

  get runDetached(): RunDetached {
    return detachedRunner(this);
  }

  relay(request: ApprovalRequest | WaitRequest, self: Invocation): Promise<Outcome<Decision>> {
    return this.#permissions.relay(request, self);
  }

  deadline(self: Invocation): Deadline | undefined {
    const { timeMs } = self.limits;
    if (timeMs === undefined || this.isReplay) return undefined;
    return new Deadline(self, timeMs, this, this.history?.worked(self.path));
  }

  grant(self: Invocation): Pick<Detached, 'grant' | 'held'> {
    const grant = grantFor(this, self, this.#permissions.levelsAbove(self));
    return { grant, held: heldFor(this, self, grant.limits) };
  }

  live(self: Invocation, start: InitialInput, detached: Detached | undefined): Promise<AgentOutcome> {
    return this.#life.live(self, start, detached);
  }

  waitFor(key: string, self: Invocation, step: number, request: WaitRequest, schema: Schema): Promise<Outcome> {
    return this.#parking.waitFor(key, self, step, request, schema);
  }

  idle(): void {
    this.#parking.idle();
  }

  get parked(): readonly (ApprovalRequest | WaitRequest)[] {
    return this.#parking.parked;
  }

  limited(call: Call<never>, reached: Reached): void {
    this.journal.note(limitNote(call, reached));
  }

  gate(call: Call<never>, value: GateNote): void {
    this.#gateNotes += 1;
    this.journal.note(gateNote(call, this.#gateNotes, value));
  }

  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void {
    if (this.sink.delta !== undefined)
      this.journal.inOrder(() => this.sink.delta?.({ self, key, step }, attempt, delta));
  }

  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void {
    if (this.sink.progress !== undefined)
      this.journal.inOrder(() => this.sink.progress?.({ self, key, step }, { name, callId }, progress));
  }
}
