import { treeFacts } from '../agents/tree-facts.ts';
import type { Agent, ModelAgent } from '../core/agent.ts';
import type { ApartChild, Grant, RunApart } from '../core/apart.ts';
import { runCode } from '../core/code-agent.ts';
import { ended } from '../core/ended.ts';
import type { Ending } from '../core/ending.ts';
import type { DivergenceError, ErrorRecord } from '../core/errors.ts';
import type { Hooks } from '../core/hooks.ts';
import { Inbox } from '../core/inbox.ts';
import { Invocation } from '../core/invocation.ts';
import type { Call, Outcome } from '../core/journal.ts';
import { deepFreeze } from '../core/json.ts';
import { joinLabels, type Label, TRUSTED } from '../core/label.ts';
import type { Limits } from '../core/limits.ts';
import { loop } from '../core/loop.ts';
import { mailboxOf, mayWrite } from '../core/mailbox.ts';
import type { Message } from '../core/message.ts';
import type { Model, ModelDelta } from '../core/model.ts';
import { modelName } from '../core/model-facts.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { Draft, Instrument, RunIn, Span } from '../core/record.ts';
import type { ChildCall, Permit, PermitQuery, RunContext } from '../core/run-context.ts';
import type { Schema } from '../core/schema.ts';
import type { Selector } from '../core/selector.ts';
import type { Stop } from '../core/status.ts';
import { Stops } from '../core/stops.ts';
import { advanceTime } from '../core/time.ts';
import type { Delegate, Progress, Tool } from '../core/tool.ts';
import type { ToolCallEffect } from '../core/tool-call.ts';
import { type CallUsage, NO_USAGE } from '../core/usage.ts';
import type { WorkingSummary } from '../core/working-summary.ts';
import type { Beginning } from '../journal/beginning.ts';
import type { Change } from '../journal/divergence.ts';
import { type History, INTERRUPTED } from '../journal/history.ts';
import type { JournalParts } from '../journal/journal-parts.ts';
import { KeyedJournal } from '../journal/keyed.ts';
import type { RunLog, TimedSignal } from '../journal/record-store.ts';
import type { Opened } from '../journal/recorder.ts';
import { traceIdOf } from '../journal/stored-record.ts';
import { Waits } from '../journal/waits.ts';
import { compacted } from '../memory/compacted.ts';
import { readSummary } from '../memory/read-summary.ts';
import { estimateTextTokens, Window, type WindowOptions } from '../memory/window.ts';
import { contextTokensOf, costOf, type Priced, worstCostOf } from '../models/prices.ts';
import { resultLabel } from '../security/result-label.ts';
import { Activity } from './activity.ts';
import { find, narrow } from './child.ts';
import { type Apart, Children, type ChildrenParts, type Started } from './children.ts';
import { Deadline } from './deadline.ts';
import { divergenceError, leftoverError } from './divergence-error.ts';
import { type ApartParts, driveApart } from './drive-apart.ts';
import { Gate, type GateNote } from './gate.ts';
import { grantFor, heldFor } from './grant.ts';
import { grantedTools } from './granted-tools.ts';
import type { Start } from './input.ts';
import { Ledger, type Reached } from './ledger.ts';
import { Limiter } from './limiter.ts';
import { NOBODY, type PermissionParts, PermissionStep } from './permission-step.ts';
import { restoreInbox } from './restore-inbox.ts';
import { runHere } from './run-here.ts';
import { RunMemories } from './run-memories.ts';
import { chooseModel, type ModelFacts, modelFacts, rememberedModel } from './run-models.ts';
import { type CheckedOptions, withDefaults } from './run-options.ts';
import {
  agentDone,
  agentStarted,
  divergedNote,
  gateNote,
  limitNote,
  runDone,
  runSpan,
  runStarted,
  stopNote,
} from './run-records.ts';
import { RunSources } from './run-sources.ts';
import { type Shared, sharedRead } from './shared-store.ts';
import type { Sink } from './sink.ts';
import { arrivalOf, readerOf } from './steer.ts';

const NOTHING_OPENED: readonly Opened[] = [];

/** A run's tree in this process: composes the rooms into what loops and procedures reach. */
export class RunTree implements RunContext, JournalParts, PermissionParts, ChildrenParts, ApartParts {
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
  /** What was pending when the run parked. */
  parked: ReturnType<Waits['pending']> = [];
  readonly #activity: Activity;
  #unwatch: (() => void) | undefined;
  readonly #permissions: PermissionStep;
  /** Whether a replay takes the model from the records. */
  #remembers = true;
  #opened: readonly Opened[] = NOTHING_OPENED;
  #deadline: Deadline | undefined;
  #gateNotes = 0;
  readonly #children: Children;
  /** Differences that were reported. */
  #said: Set<string> | undefined;

  /** Where it is a child apart: what it was granted. */
  readonly child: ApartChild | undefined;

  constructor(id: string, agent: Agent, options: CheckedOptions, child?: ApartChild) {
    this.id = id;
    this.options = options;
    this.child = child;
    this.instrument = options.instrument?.wants?.() === false ? undefined : options.instrument;
    this.limits = options.limits;
    this.#activity = new Activity(this);
    this.waits = new Waits(this.stops, this.#activity);
    this.perCall = [new Ledger(options.limits, this)];
    this.perAttempt = [new Gate(new Limiter(options.limits.concurrency), this)];
    this.journal = new KeyedJournal(this);
    this.#permissions = new PermissionStep(this);
    this.#children = new Children(this, this.#activity);
    this.root = this.#rootOf(agent, options.shared);
    this.#permissions.enter(this.root, undefined);
    for (const { id, decision } of child?.answers ?? []) this.waits.tell(id, decision, Date.now());
  }

  #rootOf(agent: Agent, shared: Shared): Invocation {
    const { agents, open } = treeFacts(agent);
    // The run of a lone agent is its own span, and so is that of a child apart.
    const isTeam = (agents.size > 1 || open) && this.child === undefined;
    const span = isTeam ? { key: agent.name, parent: this.span, handle: undefined } : this.span;
    const place = { path: agent.name, definition: agent, parent: undefined, parentStep: undefined, span };
    const grant = this.child?.grant;
    const labels = { sharedLabel: grant?.shared.label ?? TRUSTED, label: grant?.label ?? TRUSTED };
    const limits = grant === undefined ? agent.limits : narrow(agent.limits, grant.own);
    return new Invocation({ ...place, limits, shared, ...labels });
  }

  /** Keeps the records of a new run. */
  attach(log: RunLog): void {
    this.log = log;
    this.epoch = log.epoch;
    this.journal.attach(log);
    log.onSignal = () => this.#heed(log.signals());
    log.onFailure = (error) => this.stops.add(this.root.path, { status: 'cancelled', reason: error.message });
  }

  /** Goes on from records: limits, shared values, spendings and stops are theirs. */
  restore(history: History, past: Beginning): void {
    this.history = history;
    this.limits = withDefaults({ ...past.limits, ...this.options.givenLimits });
    this.root = this.#rootOf(this.root.definition, deepFreeze(past.shared));
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
    this.#remembers = model === 'as recorded';
    this.epoch = history.rows.at(-1)?.epoch ?? 1;
  }

  /** What other processes said: a decision, to stop, or a message for a node. */
  #heed(signals: readonly TimedSignal[]): void {
    for (const signal of signals) {
      if (signal.kind === 'cancel') this.cancel(signal.path, signal.reason);
      else if (signal.kind === 'steer') this.inbox.put(readerOf(this.root, signal.path), arrivalOf(signal));
      else this.waits.tell(signal.id, signal.decision, signal.time);
    }
  }

  /** Stops what is at and below a path, also in later epochs. */
  cancel(path: string, reason: string): void {
    if (this.stops.at(path) !== undefined) return;
    this.#noteStop(path, 'cancelled', reason);
    this.stops.add(path, { status: 'cancelled', reason });
  }

  diverged(self: Invocation, key: string, changes: readonly Change[]): void {
    if (this.options.onDivergence === 'stop' || this.isReplay) throw this.divergence(key, changes);
    this.#said ??= new Set();
    const said = this.#said;
    const fresh = changes.map(({ part }) => part).filter((part) => !said.has(`${self.agent} ${part}`));
    if (fresh.length === 0) return;
    for (const part of fresh) said.add(`${self.agent} ${part}`);
    this.journal.note(divergedNote(self, key, this.epoch, fresh));
  }

  divergence(key: string, changes: readonly Change[]): DivergenceError {
    return divergenceError(key, changes);
  }

  askDoubt(call: Call<never>, attempt: number): Promise<Outcome<Decision>> {
    return this.#permissions.askDoubt(call as unknown as ToolCallEffect, attempt);
  }

  get isInterrupted(): boolean {
    return INTERRUPTED.includes(this.stops.at(this.root.path)?.status);
  }

  /** A node's working time is over. A child's end is final, so a resume must come to it as well. */
  expire(self: Invocation, reason: string): void {
    if (self !== this.root && this.stops.at(self.path) === undefined) this.#noteStop(self.path, 'timeout', reason);
    this.stops.add(self.path, { status: 'timeout', reason });
  }

  #noteStop(path: string, status: 'cancelled' | 'timeout', reason: string): void {
    if (!this.journal.isWatched) return;
    this.journal.note(stopNote(this.root, this.epoch, path, { status, reason }));
  }

  /** A replay has come to what was never recorded: its end, unless a stop kept it from happening. */
  recordsEnd(key: string): void {
    if (this.stops.at(key) !== undefined) return;
    this.stops.add(this.root.path, stopOf(this.history) ?? { status: 'suspended', reason: 'The records end here.' });
  }

  endsBefore(key: string): Stop | undefined {
    if (!this.isReplay || this.journal.has(key)) return undefined;
    this.recordsEnd(key);
    return this.stops.at(key);
  }

  /** Records that nobody asked for: the code has changed. What a recorded stop kept from running is expected. */
  checkLeftovers(): void {
    const left = this.history?.leftover(({ key }) => this.stops.at(key) !== undefined);
    if (left !== undefined) throw leftoverError(left, this.history?.take(left.kind, left.key)?.started?.request);
  }

  get permissions() {
    return this.options.permissions;
  }
  get rules() {
    return this.options.rules;
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
    const recorded = this.isReplay && this.#remembers ? this.journal.recallStart('agent', self.path) : undefined;
    const model =
      recorded === undefined ? chooseModel(this.options, agent) : rememberedModel(recorded as unknown as ModelFacts);
    self.model = modelName(model);
    return model;
  }

  /** A replay has the one that was recorded. */
  contextTokens(model: Model): number | undefined {
    return this.isReplay ? model.limits?.contextTokens : contextTokensOf(model);
  }

  costOf(model: Priced, usage: CallUsage): number | undefined {
    return costOf(model, usage);
  }

  worstCostOf(model: Model, input: number, output: number): number | undefined {
    return worstCostOf(model, input, output);
  }

  selector(options: WindowOptions): Selector {
    return new Window(options);
  }

  readCompacted(covered: readonly Message[], given: unknown): readonly Message[] {
    return compacted(covered, given);
  }

  readSummary(given: unknown): WorkingSummary {
    return readSummary(given);
  }

  estimate(text: string): number {
    return estimateTextTokens(text);
  }

  toolsOf(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[] {
    const all = this.sources.withOffered(self, own, agent);
    if (all !== own) this.#permissions.checkOffered(self, all);
    return this.#permissions.allowed(self, grantedTools(this, self, all, agent));
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

  /** Opens the run's and the root's span in the caller's context; `run` writes their records. Gives the time. */
  open(request: RunIn, start: Start): bigint {
    if (request.under !== undefined) advanceTime(BigInt(request.under.since));
    else if (request.from === undefined) advanceTime(this.instrument?.notBefore?.() ?? 0n);
    const run = this.journal.open(runStarted(this.root, this.span, request));
    const root = this.journal.open(this.#agentStarted(this.root, start));
    this.root.since = root.time;
    this.#opened = [run, root];
    return run.time;
  }

  /** Resolves when no node at or below a path is at work. */
  async ended(path: string): Promise<void> {
    await find(this.root, path)?.ended;
  }

  activity(self: Invocation, by: 1 | -1): void {
    this.#activity.busy(self, by);
  }

  /** What other processes say is heard while something is under way; between two effects nobody looks. */
  underWay(isAny: boolean): void {
    if (isAny) this.#unwatch ??= this.log?.watch();
    else {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
  }

  /** After a person's answer: what was given back for the wait is taken again. */
  async resumed(self: Invocation): Promise<void> {
    await this.#children.retake(self);
  }

  /** Starts the root; `finish` or `clear` ends it. */
  begin(start: Start): Promise<Ending> {
    // A model's loop reads the labels of its brief; a procedure has them from the start.
    if (this.root.definition.type === 'code')
      for (const { label } of start.brief)
        if (label !== undefined) this.root.label = joinLabels(this.root.label, label);
    if (!this.isReplay) {
      const timeMs = Math.min(this.limits.timeMs, this.root.limits.timeMs ?? this.limits.timeMs);
      this.#deadline = new Deadline(this.root, timeMs, this, this.history?.worked(this.root.path));
      this.#activity.add(this.#deadline);
    }
    this.journal.tell(this.#opened);
    this.#opened = NOTHING_OPENED;
    // What was said while nobody ran it counts from the start.
    if (this.history !== undefined) this.#heed(this.log?.signals() ?? []);
    return this.#drive(this.root, start);
  }

  finish(ending: Ending, since: bigint): void {
    this.#over(this.root, ending);
    this.journal.note(runDone(this.root, this.span, ending, since, this));
  }

  /** Of the caps of the run and its root, what nobody has spent. What a child apart leaves is its parent's. */
  left(): Limits {
    const left = this.perCall[0].left(this.root);
    return this.child === undefined ? left : Object.fromEntries(Object.keys(left).map((name) => [name, 0]));
  }

  /** Whether a resume goes on with a node, and hears again what was for it. */
  #mayGoOn({ status }: Ending): boolean {
    return this.log !== undefined && INTERRUPTED.includes(status) && this.isInterrupted;
  }

  /** Leaves no timer behind. */
  clear(): void {
    this.inbox.clear(this.log !== undefined && this.isInterrupted ? 'kept' : 'lost');
    this.#deadline?.clear();
    this.#activity.clear();
  }

  start(child: ChildCall): Started {
    return this.#children.start(child);
  }

  async invoke(child: ChildCall): Promise<Ending> {
    return this.#children.start(child).ending;
  }

  enter(self: Invocation, delegate: Delegate | undefined): void {
    this.#permissions.enter(self, delegate);
  }

  /** A child apart goes where its runs are at home, else it runs in this process. */
  get runApart(): RunApart {
    const { journal } = this.options;
    const run: RunApart = journal?.runApart ?? ((child, signal) => runHere(this, child, signal));
    return (child, signal) => run({ ...child, ...this.#spanOf(child) }, signal);
  }

  #spanOf({ parent }: ApartChild): Pick<ApartChild, 'span'> {
    const self = find(this.root, parent.key);
    const handle = self?.span.handle;
    if (self === undefined || handle === undefined || Number.parseInt(handle.spanId, 16) === 0) return {};
    return { span: { traceId: handle.traceId, spanId: handle.spanId, since: String(self.since) } };
  }

  relay(request: ApprovalRequest | WaitRequest, self: Invocation): Promise<Outcome<Decision>> {
    return this.#permissions.relay(request, self);
  }

  deadline(self: Invocation): Deadline | undefined {
    const { timeMs } = self.limits;
    if (timeMs === undefined || this.isReplay) return undefined;
    return new Deadline(self, timeMs, this, this.history?.worked(self.path));
  }

  grant(self: Invocation): Pick<Apart, 'grant' | 'held'> {
    const grant = grantFor(this, self, this.#permissions.levelsAbove(self));
    return { grant, held: heldFor(this, self, grant.limits) };
  }

  async live(self: Invocation, start: Start, apart: Apart | undefined): Promise<Ending> {
    if (apart === undefined) {
      self.since = this.journal.note(this.#agentStarted(self, start));
      return this.#over(self, await this.#drive(self, start));
    }
    self.since = this.journal.note(agentStarted(self, start, undefined));
    return this.#over(self, await driveApart(this, self, start, apart));
  }

  #agentStarted(self: Invocation, start: Start): Draft {
    const { definition } = self;
    const model = definition.type === 'model' ? modelFacts(this.modelOf(self, definition)) : undefined;
    return agentStarted(self, start, model);
  }

  /** Within its span, so that spans which its functions and code make lie below it. */
  #drive(self: Invocation, start: Start): Promise<Ending> {
    const { handle } = self.span;
    return handle === undefined ? this.#driven(self, start) : handle.run(() => this.#driven(self, start));
  }

  #driven(self: Invocation, start: Start): Promise<Ending> {
    const { definition } = self;
    if (definition.type === 'code') return ended(this, self, runCode(this, self, start.value, start.brief));
    if (definition.memory.length > 0) this.memories.begins(self, start.brief);
    const driven = ended(this, self, loop(this, self, start));
    if (definition.memory.length === 0 || this.isReplay) return driven;
    return driven.then((ending) => {
      this.memories.ended(self, start.brief, ending);
      return ending;
    });
  }

  #over(self: Invocation, ending: Ending): Ending {
    self.end(ending.status);
    this.inbox.close(self.path, this.#mayGoOn(ending) ? 'kept' : 'lost');
    if (mayWrite(self)) this.inbox.close(mailboxOf(self.path), 'lost');
    this.perCall[0].ended(self);
    if (this.journal.isWatched) this.journal.note(agentDone(self, ending));
    return ending;
  }

  async waitFor(key: string, self: Invocation, step: number, request: WaitRequest, schema: Schema): Promise<Outcome> {
    this.waits.expect(key, schema);
    const outcome = await this.journal.wait(key, self, step, request);
    await this.resumed(self);
    if (!outcome.ok) return outcome;
    if (outcome.value.decision === 'answer') return { ok: true, value: outcome.value.value };
    const reason =
      outcome.value.decision === 'deny'
        ? (outcome.value.reason ?? 'denied')
        : `'${outcome.value.decision}' is no answer`;
    return { ok: false, error: { kind: 'denied', message: reason, retryable: false } };
  }

  /** Nothing else can go on: what nobody was asked is denied, or the run parks. */
  idle(): void {
    const unasked = this.waits.unasked();
    if (unasked.length === 0) return;
    if (this.options.onIdle === 'deny')
      for (const { id } of unasked) this.waits.decide(id, { decision: 'deny', reason: NOBODY });
    if (this.options.onIdle === 'suspend' && unasked.length === this.waits.pending().length) {
      this.parked = this.waits.pending();
      this.stops.add(this.root.path, { status: 'suspended', reason: 'Waits for a person.' });
    }
  }

  limited(call: Call<never>, reached: Reached): void {
    this.journal.note(limitNote(call, reached));
  }

  gate(call: Call<never>, value: GateNote): void {
    this.#gateNotes += 1;
    this.journal.note(gateNote(call, this.#gateNotes, value));
  }

  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void {
    this.sink.delta?.({ self, key, step }, attempt, delta);
  }

  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void {
    this.sink.progress?.({ self, key, step }, { name, callId }, progress);
  }
}

/** What ended a run from outside of its loop. */
function stopOf(history: History | undefined): Stop | undefined {
  const last = history?.rows.findLast(({ kind, event }) => kind === 'run' && event === 'done');
  const { status, error } = (last?.value ?? {}) as { readonly status?: string; readonly error?: ErrorRecord };
  if (error === undefined || (status !== 'timeout' && status !== 'aborted' && status !== 'cancelled')) return undefined;
  return { status, reason: error.message };
}
