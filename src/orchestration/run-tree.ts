import { checkTools } from '../agents/define-agent.ts';
import { treeFacts } from '../agents/tree-facts.ts';
import type { Agent, ModelAgent } from '../core/agent.ts';
import { runCode } from '../core/code-agent.ts';
import type { Ending } from '../core/ending.ts';
import { ConfigurationError, DivergenceError, type ErrorRecord, ToolError } from '../core/errors.ts';
import { Invocation } from '../core/invocation.ts';
import type { Call, Outcome } from '../core/journal.ts';
import { deepFreeze } from '../core/json.ts';
import { joinLabels, type Label, TRUSTED } from '../core/label.ts';
import { loop } from '../core/loop.ts';
import type { Model, ModelDelta } from '../core/model.ts';
import { modelName } from '../core/model-call.ts';
import type { Decision, WaitRequest } from '../core/permission.ts';
import type { AgentOut, Draft, RunIn, RunRecord, Span } from '../core/record.ts';
import type { ChildCall, Permit, PermitQuery, RunContext, Selector } from '../core/run-context.ts';
import type { Schema } from '../core/schema.ts';
import { costUsd } from '../core/spending.ts';
import type { Stop } from '../core/status.ts';
import { Stops } from '../core/stops.ts';
import type { Delegate, Progress, Tool } from '../core/tool.ts';
import type { ToolCallEffect } from '../core/tool-call.ts';
import { type CallUsage, NO_USAGE } from '../core/usage.ts';
import type { Beginning } from '../journal/beginning.ts';
import { type History, INTERRUPTED } from '../journal/history.ts';
import { type JournalParts, KeyedJournal, type Opened } from '../journal/keyed.ts';
import type { RunLog, TimedSignal } from '../journal/record-store.ts';
import { traceIdOf } from '../journal/stored-record.ts';
import { Waits } from '../journal/waits.ts';
import { memoryTools } from '../memory/memory-tools.ts';
import { estimateTextTokens, Window, type WindowOptions } from '../memory/window.ts';
import { contextTokensOf, costOf, type Priced, worstCostOf } from '../models/prices.ts';
import { resultLabel } from '../security/result-label.ts';
import { Activity } from './activity.ts';
import { Admission } from './admission.ts';
import { childStart, find, narrow } from './child.ts';
import { Deadline } from './deadline.ts';
import { Gate, type GateNote } from './gate.ts';
import type { Start } from './input.ts';
import { Ledger, type Reached } from './ledger.ts';
import { Limiter } from './limiter.ts';
import { NOBODY, type PermissionParts, PermissionStep } from './permission-step.ts';
import { Places } from './places.ts';
import { type CheckedOptions, withDefaults } from './run-options.ts';
import { copyShared, type Shared, sharedRead } from './shared-store.ts';

/** What of a run is shown to whom; set by the handle while somebody listens. */
export interface Sink {
  record: ((record: RunRecord) => void) | undefined;
  delta:
    | ((at: { self: Invocation; key: string; step: number }, attempt: number, delta: ModelDelta) => void)
    | undefined;
  progress:
    | ((
        at: { self: Invocation; key: string; step: number },
        call: { name: string; callId: string },
        progress: Progress,
      ) => void)
    | undefined;
}

const RUN_KEY = '@run';
const NOTHING_OPENED: readonly Opened[] = [];

/** A run's tree in this process: composes the rooms into what loops and procedures reach. */
export class RunTree implements RunContext, JournalParts, PermissionParts {
  /** Of another run, where a resume goes on in a fork. */
  id: string;
  root: Invocation;
  readonly options: CheckedOptions;
  readonly stops = new Stops();
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
  readonly span: Span = { key: RUN_KEY, parent: undefined, handle: undefined };
  perCall: readonly [Ledger];
  readonly perAttempt: readonly [Gate];
  /** What was pending when the run parked. */
  parked: ReturnType<Waits['pending']> = [];
  readonly #activity: Activity;
  readonly #permissions: PermissionStep;
  /** Whether a replay takes the model from the records. */
  #remembers = true;
  #opened: readonly Opened[] = NOTHING_OPENED;
  #deadline: Deadline | undefined;
  #places: Places | undefined;
  #gateNotes = 0;
  readonly #admission: Admission;
  /** Differences that were reported. */
  #said: Set<string> | undefined;

  constructor(id: string, agent: Agent, options: CheckedOptions) {
    this.id = id;
    this.options = options;
    this.limits = options.limits;
    this.#activity = new Activity(this);
    this.waits = new Waits(this.stops, this.#activity);
    this.perCall = [new Ledger(options.limits, this)];
    this.perAttempt = [new Gate(new Limiter(options.limits.concurrency), this)];
    this.journal = new KeyedJournal(this);
    this.#permissions = new PermissionStep(this);
    this.#admission = new Admission(this);
    this.root = this.#rootOf(agent, options.shared, TRUSTED);
    this.#permissions.enter(this.root, undefined);
  }

  #rootOf(agent: Agent, shared: Shared, label: Label): Invocation {
    const span = { key: agent.name, parent: this.span, handle: undefined };
    const place = { path: agent.name, definition: agent, parent: undefined, parentStep: undefined, span };
    return new Invocation({ ...place, limits: agent.limits, shared, sharedLabel: TRUSTED, label });
  }

  /** Keeps the records of a new run. */
  attach(log: RunLog): void {
    this.log = log;
    this.epoch = log.epoch;
    this.journal.attach(log, log.run.rows.length);
    log.onSignal = () => this.#heed(log.signals());
    log.onFailure = (error) => this.stops.add(this.root.path, { status: 'cancelled', reason: error.message });
  }

  /** Goes on from records: limits, shared values, spendings and stops are theirs. */
  restore(history: History, past: Beginning): void {
    this.history = history;
    this.limits = withDefaults({ ...past.limits, ...this.options.givenLimits });
    this.root = this.#rootOf(this.root.definition, deepFreeze(past.shared), TRUSTED);
    this.#permissions.enter(this.root, undefined);
    this.perCall = [new Ledger(this.limits, this, history)];
    this.#permissions.remember(history.rows, treeFacts(this.root.definition).tools);
    Object.assign(this.count, {
      steps: history.steps,
      toolCalls: history.toolCalls,
      agents: Math.max(1, history.agents),
    });
    for (const { path, stop } of history.stops) this.stops.add(path, stop);
  }

  /** Shows records again and lets nothing new happen. */
  replay(history: History, past: Beginning, model: 'as recorded' | 'of the code' = 'as recorded'): void {
    this.restore(history, past);
    this.isReplay = true;
    this.#remembers = model === 'as recorded';
    this.epoch = history.rows.at(-1)?.epoch ?? 1;
  }

  /** What other processes said: a decision, or to stop. */
  #heed(signals: readonly TimedSignal[]): void {
    for (const signal of signals) {
      if (signal.kind === 'cancel') this.cancel(signal.path, signal.reason);
      else this.waits.tell(signal.id, signal.decision, signal.time);
    }
  }

  /** Stops what is at and below a path, also in later epochs. */
  cancel(path: string, reason: string): void {
    if (this.stops.at(path) !== undefined) return;
    this.#noteStop(path, 'cancelled', reason);
    this.stops.add(path, { status: 'cancelled', reason });
  }

  diverged(self: Invocation, key: string, parts: readonly string[]): void {
    if (this.options.onDivergence === 'stop' || this.isReplay) {
      throw new DivergenceError(key, parts, `${key}: recorded with other ${parts.join(', ')} than the code has now.`);
    }
    this.#said ??= new Set();
    const said = this.#said;
    const fresh = parts.filter((part) => !said.has(`${self.agent} ${part}`));
    if (fresh.length === 0) return;
    for (const part of fresh) said.add(`${self.agent} ${part}`);
    const entry = {
      key: `${key}/@diverged`,
      place: self,
      step: self.step,
      attempt: this.epoch,
      span: self.span,
    } as const;
    this.journal.note({ ...entry, kind: 'diverged', event: 'done', value: { parts: fresh } });
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
    const entry = { key: `${path}/@cancel`, place: this.root, step: 0, attempt: this.epoch } as const;
    const value = { path, status, reason };
    this.journal.note({ ...entry, span: this.root.span, kind: 'stop', event: 'done', value });
  }

  /** A replay has come to what was never recorded. */
  recordsEnd(): void {
    this.stops.add(this.root.path, stopOf(this.history) ?? { status: 'suspended', reason: 'The records end here.' });
  }

  /** Records that nobody asked for: the code has changed. What a recorded stop kept from running is expected. */
  checkLeftovers(): void {
    const left = this.history?.leftover(({ key }) => this.stops.at(key) !== undefined);
    if (left === undefined) return;
    throw new DivergenceError(
      left.key,
      ['key'],
      `${left.key}: recorded, and the code no longer asks for it. Resume with the code it was started with, or fork it before record ${left.record}.`,
    );
  }

  get instrument() {
    return this.options.instrument;
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
  get deps(): unknown {
    return this.options.deps;
  }
  get graceMs(): number {
    return this.options.graceMs;
  }
  get listening(): boolean {
    return this.sink.delta !== undefined;
  }

  modelOf(self: Invocation, agent: ModelAgent): Model {
    const { models, model } = this.options;
    const recorded = this.isReplay && this.#remembers ? this.journal.recallStart('agent', self.path) : undefined;
    if (recorded !== undefined) return this.#remembered(self, recorded as unknown as ReturnType<typeof modelFacts>);
    const chosen =
      (models !== undefined && Object.hasOwn(models, agent.name) ? models[agent.name] : undefined) ??
      model ??
      agent.model;
    if (chosen === undefined)
      throw new ConfigurationError(`agent ${agent.name}.model`, 'missing', 'Give the agent a model, or the run.');
    self.model = modelName(chosen);
    return chosen;
  }

  /** A model by its record: a replay asks none. */
  #remembered(self: Invocation, { model, modelLimits }: ReturnType<typeof modelFacts>): Model {
    self.model = model;
    const slash = model.indexOf('/');
    const names = { provider: model.slice(0, slash), id: model.slice(slash + 1) };
    const generate = () => Promise.reject(new Error('a replay asks no model'));
    return { ...names, generate, ...(modelLimits && { limits: modelLimits }) };
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

  estimate(text: string): number {
    return estimateTextTokens(text);
  }

  toolsOf(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[] {
    const isGiven = typeof agent.tools === 'function';
    if (isGiven) checkTools(`agent ${agent.name}.tools`, own);
    const grants = agent.memory.map(({ store, namespace, read = true, write = false }, index) => {
      const name =
        typeof namespace === 'function'
          ? this.journal.once(`${self.path}/@namespace.${index}`, self, () => namespace({ deps: this.deps as never }))
          : namespace;
      return { store, namespace: name, read, write };
    });
    const more = grants.length === 0 ? [] : [...memoryTools(grants)];
    if (isGiven && more.length > 0) checkTools(`agent ${agent.name}.tools`, [...own, ...more]);
    if (Object.keys(self.shared).length > 0 && !own.some(({ name }) => name === sharedRead.name)) more.push(sharedRead);
    return this.#permissions.allowed(self, more.length === 0 ? own : [...own, ...more]);
  }

  permit(query: PermitQuery): Permit | Promise<Permit> {
    return this.#permissions.permit(query);
  }

  resultLabel(tool: Tool, self: Invocation): Label {
    return tool === sharedRead ? self.sharedLabel : resultLabel(tool, this.options.trust);
  }

  /** Opens the run's and the root's span in the caller's context; `run` writes their records. Gives the time. */
  open(request: RunIn, start: Start): bigint {
    const entry = { key: RUN_KEY, place: this.root, step: 0, attempt: 1, span: this.span } as const;
    const run = this.journal.open({ ...entry, kind: 'run', event: 'started', request });
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

  /** After a person's answer: what was given back for the wait is taken again. */
  async resumed(self: Invocation): Promise<void> {
    await this.#places?.retake(self);
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
    return this.#drive(this.root, start);
  }

  finish(ending: Ending, since: bigint): void {
    this.#over(this.root, ending);
    const { status, text, error } = ending;
    const { root, count } = this;
    const facts = {
      status,
      text,
      ...spentBy(root),
      steps: count.steps,
      toolCalls: count.toolCalls,
    };
    const value = {
      ...facts,
      ...(error !== undefined && { error }),
      ...(status === 'suspended' && { pending: this.parked }),
    };
    const entry = { key: RUN_KEY, place: root, step: root.step, attempt: 1, span: this.span, since } as const;
    this.journal.note({ ...entry, kind: 'run', event: status === 'suspended' ? 'suspended' : 'done', value });
  }

  /** Leaves no timer behind. */
  clear(): void {
    this.#deadline?.clear();
    this.#activity.clear();
  }

  async invoke(child: ChildCall): Promise<Ending> {
    const { agent, parent } = child;
    const refused = this.#refusalOnce(child);
    if (refused !== undefined) throw new ToolError('denied', refused);
    // Before it counts: a brief that does not fit starts nothing.
    const start = childStart(agent, child.input, child.label);
    const delegate = child.delegate?.type === 'procedure' ? child.delegate.delegate : undefined;
    const { shared, sharedLabel } = this.#sharedFor(child, delegate);
    if (!this.journal.has(child.key)) this.count.agents += 1;
    const self = new Invocation({
      path: child.key,
      definition: agent,
      parent,
      parentStep: child.parentStep,
      span: { key: child.key, parent: child.parentSpan, handle: undefined },
      limits: delegate === undefined ? agent.limits : narrow(agent.limits, delegate.limits),
      shared,
      sharedLabel,
      label: child.label,
    });
    parent.children.push(self);
    let over = () => {};
    self.ended = new Promise((resolve) => {
      over = resolve;
    });
    this.#permissions.enter(self, delegate);
    const { definition } = parent;
    const concurrency = definition.type === 'model' ? definition.concurrency : undefined;
    if (concurrency !== undefined) {
      this.#places ??= new Places(this.#activity, this.stops);
      await this.#places.take(self, parent, concurrency);
    }
    const deadline =
      self.limits.timeMs === undefined || this.isReplay
        ? undefined
        : new Deadline(self, self.limits.timeMs, this, this.history?.worked(self.path));
    if (deadline !== undefined) this.#activity.add(deadline);
    try {
      self.since = this.journal.note(this.#agentStarted(self, start));
      return this.#over(self, await this.#drive(self, start));
    } finally {
      deadline?.clear();
      if (deadline !== undefined) this.#activity.remove(deadline);
      this.#places?.give(self);
      over();
    }
  }

  #agentStarted(self: Invocation, { brief }: Start): Draft {
    const { definition, depth } = self;
    const model = definition.type === 'model' ? this.modelOf(self, definition) : undefined;
    const facts = { agent: self.agent, description: definition.description, type: definition.type, brief, depth };
    const entry = { key: self.path, place: self, step: 0, attempt: 1, span: self.span } as const;
    return {
      ...entry,
      kind: 'agent',
      event: 'started',
      request: model === undefined ? facts : { ...facts, ...modelFacts(model) },
    };
  }

  #drive(self: Invocation, start: Start): Promise<Ending> {
    return self.definition.type === 'model' ? loop(this, self, start) : runCode(this, self, start.value, start.brief);
  }

  #over(self: Invocation, ending: Ending): Ending {
    self.status = ending.status;
    this.perCall[0].ended(self);
    if (this.journal.isWatched) {
      const { status, text, error } = ending;
      const out = {
        status,
        text,
        ...spentBy(self),
        steps: self.step,
        toolCalls: self.toolCalls + self.codeCalls,
      };
      const entry = {
        key: self.path,
        place: self,
        step: self.step,
        attempt: 1,
        span: self.span,
        since: self.since,
      } as const;
      this.journal.note({
        ...entry,
        kind: 'agent',
        event: 'done',
        value: error === undefined ? out : { ...out, error },
      });
    }
    return ending;
  }

  /** Depends on what the rest of the tree did until then, so a resume keeps to what was decided. */
  #refusalOnce(child: ChildCall): string | undefined {
    const key = `${child.key}/@admit`;
    const recorded = this.journal.recall('once', key);
    if (recorded !== undefined) return recorded as string;
    if (this.journal.has(child.key)) return undefined;
    const refused = this.#admission.refusal(child);
    return refused === undefined ? undefined : this.journal.once(key, child.parent, () => refused);
  }

  #sharedFor(
    { input, key, parent, label }: ChildCall,
    delegate: Delegate | undefined,
  ): { shared: Shared; sharedLabel: Label } {
    if (delegate?.shared === undefined) return parent;
    const context = { deps: this.deps, shared: parent.shared, path: key, runId: this.id };
    const { shared, agent } = delegate;
    const share = () => copyShared(shared(input as never, context as never), `delegate ${agent.name}.shared`);
    return {
      shared: deepFreeze(this.journal.once(`${key}/@shared`, parent, share)),
      sharedLabel: joinLabels(label, parent.sharedLabel),
    };
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
    const { self } = call;
    const entry = { key: `${call.key}/@limit`, place: self, step: self.step, attempt: 1, span: self.span } as const;
    this.journal.note({ ...entry, kind: 'limit', event: 'done', value: { ...reached } });
  }

  /** Each of a run's notes about gates has its own number, since they may stand at one address. */
  gate(call: Call<never>, value: GateNote): void {
    const { self } = call;
    this.#gateNotes += 1;
    const entry = {
      key: `${call.key}/@gate`,
      place: self,
      step: self.step,
      attempt: this.#gateNotes,
      span: self.span,
    } as const;
    this.journal.note({ ...entry, kind: 'gate', event: 'done', value });
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

/** Of itself, and of its subtree. */
function spentBy(node: Invocation): Pick<AgentOut, 'ownUsage' | 'usage' | 'costUsd'> {
  const spending = node.treeSpending();
  const cost = costUsd(spending);
  return { ownUsage: node.usage, usage: spending.usage, ...(cost !== undefined && { costUsd: cost }) };
}

function modelFacts(model: Model) {
  const contextTokens = contextTokensOf(model);
  const modelLimits = contextTokens === undefined ? model.limits : { ...model.limits, contextTokens };
  return { model: modelName(model), ...(modelLimits !== undefined && { modelLimits }) };
}
