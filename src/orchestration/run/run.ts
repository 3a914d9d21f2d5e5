import { type EventType, type RunEvent, runEnd, runFailed } from '../../core/contract/events-of-record.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult, TreeNode } from '../../core/contract/result.ts';
import { type AgentOutcome, agentResult, treeOf } from '../../core/runtime/agent-outcome.ts';
import { isWithin } from '../../core/runtime/stops.ts';
import { ConfigurationError, type ErrorRecord, messageOf } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';
import { timeNow } from '../../core/values/time.ts';
import { BEGINNING_VERSION } from '../../journal/beginning.ts';
import { asJson } from '../../journal/row.ts';
import { alreadyDecided, fittingDecision } from '../approvals/fitting-decision.ts';
import { refuseInside, within } from '../approvals/reentrancy-guard.ts';
import type { InitialInput } from './initial-input.ts';
import { Listeners } from './listeners.ts';
import { type Follows, originOf } from './origin-span.ts';
import type { Listener, Run } from './run-handle.ts';
import type { CheckedOptions } from './run-options.ts';
import type { RunTree } from './run-tree.ts';
import { refusal, type SteerMessage, type SteerSignal, steer, steerProblem, steerSignal } from './steer.ts';
import { TextStream } from './text-stream.ts';

/** The handle of a run: shows its records to observers, and takes decisions, stops and messages. */
export class LiveRun<Output = unknown> implements Run<Output> {
  readonly result: Promise<RunResult<Output>>;
  readonly #tree: RunTree;
  readonly #options: CheckedOptions;
  readonly #team: boolean;
  #afterwards: Promise<void> | undefined;
  readonly #listeners: Listeners;
  /** Steers that came before the run was stored in its journal, or read from it. */
  #early: ((isOver: boolean) => void)[] | undefined;
  #isRead: boolean;
  #since = 0n;

  constructor(tree: RunTree, origin: Origin, options: CheckedOptions, team: boolean) {
    this.#tree = tree;
    this.#options = options;
    this.#team = team;
    this.#listeners = new Listeners(tree, options);
    // The spans of a new run open here, in the caller's context; their records are written once it has begun.
    this.#isRead = 'initial' in origin;
    this.#early = this.#isRead && options.journal === undefined ? undefined : [];
    if ('initial' in origin) this.#open(origin.initial, origin.follows);
    this.result = this.#run(origin);
    this.result.catch(noop);
  }

  #open(initial: InitialInput, follows?: Follows): void {
    const { root, options } = this.#tree;
    const { forkedFrom, child } = this.#tree;
    const from = originOf(this.#tree) ?? follows?.span;
    const request = {
      ...{ agent: root.agent, team: this.#team, input: initial.brief },
      ...(forkedFrom !== undefined && { forkedFrom }),
      ...(child !== undefined && { parentRun: child.parent.run, team: false }),
      ...(follows !== undefined && { parentRun: follows.run }),
      ...(child?.span !== undefined && { under: child.span }),
      ...(from !== undefined && { from }),
    };
    // A resume's is in the first record.
    const isNew = options.journal !== undefined && this.#tree.history === undefined;
    const beginning = isNew ? beginningJson(this.#tree, initial) : undefined;
    this.#since = this.#tree.life.open(beginning === undefined ? request : { ...request, beginning }, initial);
  }

  get id(): string {
    return this.#tree.id;
  }

  get traceId(): string {
    return this.#tree.traceId;
  }

  /** Whether its records outlive the process, so that it can continue without its observers. */
  get isDurable(): boolean {
    return this.#options.journal !== undefined;
  }

  get settled(): Promise<void> {
    return this.result.then(() => this.#afterwards, noop);
  }

  tree(): TreeNode {
    return treeOf(this.#tree.root);
  }

  pending(): readonly (ApprovalRequest | WaitRequest)[] {
    return this.#tree.waits.pending();
  }

  decide(id: string, decision: Decision): Promise<void> {
    return mayBeIgnored(this.#decide(id, decision));
  }

  async #decide(id: string, decision: Decision): Promise<void> {
    refuseInside(this.id, 'decide');
    const { waits } = this.#tree;
    if (waits.wasAnswered(id)) throw alreadyDecided(id);
    const request = waits.get(id) ?? (await this.#appears(id));
    if (request === undefined) {
      const open = this.pending().map((one) => one.id);
      const mend = this.#listeners.isOver
        ? 'The run has ended here; one that is suspended goes on by decideRun, then resumeRun.'
        : `Pending are: ${open.join(', ') || '(none)'}.`;
      throw new ConfigurationError('id', `nothing waits under ${JSON.stringify(id)}`, mend);
    }
    const fitting = fittingDecision(request, decision, (value) => waits.check(id, value));
    const isFirst = await this.#options.journal?.signal(this.id, { kind: 'decision', id, decision: fitting });
    // The journal knows which decision was first; the run may have received this one from there.
    if (isFirst === false || (!waits.decide(id, fitting) && isFirst === undefined)) throw alreadyDecided(id);
  }

  /** A decision made in the tick of `startRun` may come before its request. */
  async #appears(id: string): Promise<ApprovalRequest | WaitRequest | undefined> {
    if (this.#listeners.isOver) return undefined;
    await new Promise<void>((resolve) => setImmediate(resolve));
    return this.#tree.waits.get(id);
  }

  cancel(path: string = this.#tree.root.path, reason = 'cancelled'): Promise<void> {
    return mayBeIgnored(this.#cancel(path, reason));
  }

  async #cancel(path: string, reason: string): Promise<void> {
    const root = this.#tree.root.path;
    if (typeof path !== 'string' || !isWithin(path, root)) {
      throw new ConfigurationError(
        'path',
        `${shown(path)} is not in this run`,
        `Paths begin with ${root}; without one the whole run is cancelled.`,
      );
    }
    this.#tree.cancellation.cancel(path, reason);
    if (path === this.#tree.root.path) await this.result.catch(() => {});
    else await this.#tree.root.find(path)?.ended;
  }

  steer(path: string, message: SteerMessage): Promise<void> {
    refuseInside(this.id, 'steer');
    const signal = steerSignal(path, message);
    if (this.#listeners.isOver) throw refusal('the run is over');
    // The nodes of a resumed run are known once its records are read.
    const problem = this.#isRead ? steerProblem(this.#tree, path) : undefined;
    if (problem !== undefined) throw refusal(problem);
    return mayBeIgnored(this.#early === undefined ? steer(this.#tree, signal) : this.#steerEarly(signal));
  }

  #steerEarly(signal: SteerSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#early?.push((isOver) => (isOver ? reject(refusal('the run is over')) : resolve(steer(this.#tree, signal))));
    return promise;
  }

  on<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    this.#listeners.on(type, listener);
    return this;
  }

  once<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    this.#listeners.once(type, listener);
    return this;
  }

  off<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    this.#listeners.off(type, listener);
    return this;
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    return this.#listeners.events();
  }

  text(path: string = this.#tree.root.path): AsyncIterable<string> {
    return new TextStream(this, path);
  }

  async #run(origin: Origin): Promise<RunResult<Output>> {
    await undefined;
    const { signal } = this.#options;
    const abort = signal && (() => this.#tree.stops.add(this.#tree.root.path, ABORTED));
    try {
      const begun = 'initial' in origin ? await this.#create(origin.initial) : await origin.begin(this.#tree);
      if ('status' in begun) return this.#alreadyOver(begun);
      this.#sendEarly(false);
      if (!('initial' in origin)) this.#open(begun);
      if (signal?.aborted) this.#tree.stops.add(this.#tree.root.path, ABORTED);
      if (abort !== undefined) signal?.addEventListener('abort', abort, { once: true });
      const outcome = await within(this.id, () => this.#tree.life.begin(begun));
      return await this.#finish(outcome);
    } catch (thrown) {
      // Nothing awaits the rest of the tree any more: it must not continue unseen.
      this.#tree.stops.add(this.#tree.root.path, { status: 'cancelled', reason: 'The run failed.' });
      if (this.#tree.isReplay) this.#tree.journal.showPlayed();
      // What happened before is shown before the end.
      await this.#tree.log?.commit().catch(noop);
      this.#failed(thrown);
      this.#listeners.silence();
      this.#tree.log?.abandon();
      await this.#listeners.flush();
      await this.#tree.sources.close();
      throw thrown;
    } finally {
      this.#sendEarly(true);
      this.#tree.life.clear();
      if (abort !== undefined) signal?.removeEventListener('abort', abort);
      this.#listeners.end();
    }
  }

  #sendEarly(isOver: boolean): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#isRead = true;
    for (const send of early) send(isOver);
  }

  async #create(initial: InitialInput): Promise<InitialInput> {
    const { journal } = this.#options;
    if (journal !== undefined) this.#tree.attach(await journal.create({ id: this.id, agent: this.#tree.root.agent }));
    return initial;
  }

  async #finish(outcome: AgentOutcome): Promise<RunResult<Output>> {
    const tree = this.#tree;
    if (outcome.status === 'completed') tree.divergences.checkLeftovers();
    tree.life.finish(outcome, this.#since);
    if (tree.isReplay) this.#replayed(outcome);
    const result = agentResult(outcome, tree, tree.parking.parked) as RunResult<Output>;
    await tree.log?.close(outcome.status, result, tree.parking.parked);
    this.#listeners.silence();
    await this.#listeners.flush();
    const followUp = tree.isReplay ? undefined : tree.memories.followUp(outcome.status);
    const closing = tree.sources.close();
    if (closing !== undefined) await closing;
    if (followUp !== undefined) this.#afterwards = (await tree.starter.afterRun(followUp)).over;
    return result;
  }

  #replayed({ status }: AgentOutcome): void {
    const { instrument, journal } = this.#tree;
    journal.showPlayed();
    if (instrument?.replayed !== undefined)
      this.#listeners.observe(() => instrument.replayed?.(this.id, status, timeNow()));
  }

  /** A run that is over: its result comes back, and nothing is written. */
  #alreadyOver(result: RunResult): RunResult<Output> {
    const now = this.#listeners.at(this.#tree.root, '@run', 0);
    this.#listeners.emit(runEnd({ ...now, since: now.time }, result));
    return result as RunResult<Output>;
  }

  #failed(thrown: unknown): void {
    const error: ErrorRecord = { kind: 'failed', message: messageOf(thrown), retryable: false };
    const { root, instrument, journal } = this.#tree;
    const listeners = this.#listeners;
    const time = journal.abandoned(error);
    if (instrument?.abandon !== undefined) listeners.observe(() => instrument.abandon?.(this.id, error, time));
    listeners.emit(runFailed({ ...listeners.at(root, '@run', 0), since: this.#since }, error, root.treeUsage()));
  }
}

const ABORTED = Object.freeze({ status: 'aborted', reason: 'The caller’s signal was aborted.' } as const);

/** A rejection that the caller does not await must not end the process. */
function mayBeIgnored(promise: Promise<void>): Promise<void> {
  promise.catch(noop);
  return promise;
}

function noop(): void {}

/** The origin of a run: it starts, or continues from records (or is over already). */
export type Origin =
  | { readonly initial: InitialInput; readonly follows?: Follows | undefined }
  | { begin(tree: RunTree): Promise<InitialInput | RunResult> };

function beginningJson(
  { root, limits, child }: Pick<RunTree, 'root' | 'limits' | 'child'>,
  { brief, value }: InitialInput,
): Json | undefined {
  const parentRun = child?.parent.run;
  return asJson({
    version: BEGINNING_VERSION,
    brief,
    value,
    shared: root.shared,
    limits,
    agentLimits: root.limits,
    parentRun,
  });
}
