import { EventEmitter } from 'eventemitter3';
import { agentResult, type Ending, type RunResult, type TreeNode, treeOf } from '../core/ending.ts';
import { ConfigurationError, type ErrorRecord, messageOf } from '../core/errors.ts';
import {
  type EventBody,
  type EventType,
  eventState,
  eventsOf,
  modelDelta,
  type RunEvent,
  runEnd,
  runFailed,
  toolProgress,
} from '../core/events.ts';
import type { Json } from '../core/json.ts';
import { shown } from '../core/options.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { RunRecord } from '../core/record.ts';
import type { Validation } from '../core/schema.ts';
import { isWithin } from '../core/stops.ts';
import { timeNow } from '../core/time.ts';
import { asJson } from '../journal/row.ts';
import { readDecision } from '../security/approval.ts';
import { EventQueue } from './event-queue.ts';
import type { Start } from './input.ts';
import { isInside, outside, within } from './inside.ts';
import type { Listener, Run } from './run-handle.ts';
import type { CheckedOptions } from './run-options.ts';
import type { RunTree } from './run-tree.ts';
import { TextStream } from './text-stream.ts';

/** The handle of a run: shows its records to whoever looks, and takes what people and processes say. */
export class LiveRun<Output = unknown> implements Run<Output> {
  readonly result: Promise<RunResult<Output>>;
  readonly #tree: RunTree;
  readonly #options: CheckedOptions;
  readonly #team: boolean;
  #emitter: EventEmitter | undefined;
  #guarded: WeakMap<object, (event: RunEvent) => void> | undefined;
  #queues: Set<EventQueue<RunEvent>> | undefined;
  #state: ReturnType<typeof eventState> | undefined;
  #seq = 0;
  #ended = false;
  #isWarned = false;
  #afterwards: Promise<void> | undefined;
  #since = 0n;

  constructor(tree: RunTree, origin: Origin, options: CheckedOptions, team: boolean) {
    this.#tree = tree;
    this.#options = options;
    this.#team = team;
    if (options.views.length > 0 || tree.instrument !== undefined) this.#listen();
    // The spans of a new run open here, in the caller's context; their records are written once it has begun.
    if ('start' in origin) this.#open(origin.start);
    this.result = this.#run(origin);
    this.result.catch(noop);
  }

  #open(start: Start): void {
    const { root, options } = this.#tree;
    const { forkedFrom, child } = this.#tree;
    const request = {
      ...{ agent: root.agent, team: this.#team, input: start.brief },
      ...(forkedFrom !== undefined && { forkedFrom }),
      ...(child !== undefined && { parentRun: child.parent.run }),
    };
    // A resume's is in the first record.
    const isNew = options.journal !== undefined && this.#tree.history === undefined;
    const beginning = isNew ? beginningJson(this.#tree, start) : undefined;
    this.#since = this.#tree.open(beginning === undefined ? request : { ...request, beginning }, start);
  }

  get id(): string {
    return this.#tree.id;
  }

  get traceId(): string {
    return this.#tree.traceId;
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

  async decide(id: string, decision: Decision): Promise<void> {
    if (isInside(this.id)) {
      throw new ConfigurationError(
        'decide',
        'a decision made from inside the tree is refused',
        'Decide from outside of its tools and procedures.',
      );
    }
    const { waits } = this.#tree;
    const request = waits.get(id) ?? (await this.#appears(id));
    if (request === undefined) {
      const open = this.pending().map((one) => one.id);
      throw new ConfigurationError(
        'id',
        `nothing waits under ${JSON.stringify(id)}`,
        `Pending are: ${open.join(', ') || '(none)'}.`,
      );
    }
    const fitting = fittingDecision(request, decision, (value) => waits.check(id, value));
    const isFirst = await this.#options.journal?.signal(this.id, { kind: 'decision', id, decision: fitting });
    if (isFirst === false || !waits.decide(id, fitting))
      throw new ConfigurationError('id', `${id} was answered before`, 'The first decision holds.');
  }

  /** A decision made in the tick of `startRun` may come before its request. */
  async #appears(id: string): Promise<ApprovalRequest | WaitRequest | undefined> {
    if (this.#ended) return undefined;
    await new Promise<void>((resolve) => setImmediate(resolve));
    return this.#tree.waits.get(id);
  }

  async cancel(path: string = this.#tree.root.path, reason = 'cancelled'): Promise<void> {
    const root = this.#tree.root.path;
    if (typeof path !== 'string' || !isWithin(path, root)) {
      throw new ConfigurationError(
        'path',
        `${shown(path)} is not in this run`,
        `Paths begin with ${root}; without one the whole run is cancelled.`,
      );
    }
    this.#tree.cancel(path, reason);
    if (path === this.#tree.root.path) await this.result.catch(() => {});
    else await this.#tree.ended(path);
  }

  on<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    this.#emitter ??= new EventEmitter();
    this.#emitter.on(type, this.#guard(listener as (event: never) => unknown));
    this.#listen();
    return this;
  }

  once<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    this.#emitter ??= new EventEmitter();
    this.#emitter.once(type, this.#guard(listener as (event: never) => unknown));
    this.#listen();
    return this;
  }

  off<Type extends EventType>(type: Type, listener: Listener<Type>): this {
    const guarded = this.#guarded?.get(listener);
    if (guarded !== undefined) this.#emitter?.off(type, guarded);
    return this;
  }

  /** Every event of every node of the tree, from now on. */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    const queue = new EventQueue<RunEvent>((queue) => this.#queues?.delete(queue));
    if (this.#ended) queue.end();
    else {
      this.#queues ??= new Set();
      this.#queues.add(queue);
      this.#listen();
    }
    return queue;
  }

  text(path: string = this.#tree.root.path): AsyncIterable<string> {
    return new TextStream(this, path);
  }

  #guard(listener: (event: never) => unknown): (event: RunEvent) => void {
    this.#guarded ??= new WeakMap();
    let guarded = this.#guarded.get(listener);
    if (guarded === undefined) {
      guarded = (event) => this.#observe(() => listener(event as never));
      this.#guarded.set(listener, guarded);
    }
    return guarded;
  }

  /** Observers are called from inside the tree and are not part of it: they may decide. */
  #observe(call: () => unknown): void {
    try {
      const returned = outside(this.id, call);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#observerFailed(error));
    } catch (error) {
      this.#observerFailed(error);
    }
  }

  /** Once a run: with nobody told, a log that cannot be written would be lost in silence. */
  #warn(error: unknown): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    process.emitWarning(
      `run ${this.id}: a view or listener failed (${messageOf(error)}). onObserverError is told of each.`,
      'CoxswainWarning',
    );
  }

  #observerFailed(error: unknown): void {
    try {
      if (this.#options.onObserverError === undefined) this.#warn(error);
      const told: unknown = this.#options.onObserverError?.(error);
      if (told instanceof Promise) told.catch(noop);
    } catch {
      // Its own throw is swallowed: there is nobody left to tell.
    }
  }

  /** Records are made while somebody looks, chunks while somebody listens to them. */
  #listen(): void {
    if (this.#ended) return;
    const { sink } = this.#tree;
    this.#state ??= eventState();
    sink.record ??= (record) => this.#show(record);
    if (this.#emitter === undefined && this.#queues === undefined) return;
    if (this.#queues !== undefined || (this.#emitter?.listenerCount('model.delta') ?? 0) > 0) {
      sink.delta ??= ({ self, key, step }, attempt, delta) =>
        this.#emit(modelDelta(this.#at(self, key, step), attempt, delta));
    }
    sink.progress ??= ({ self, key, step }, call, progress) =>
      this.#emit(toolProgress(this.#at(self, key, step), call, progress));
  }

  #at(place: RunTree['root'], key: string, step: number) {
    return { run: this.id, traceId: this.traceId, key, place, step, time: timeNow() };
  }

  #show(record: RunRecord): void {
    const { instrument } = this.#tree;
    const { views } = this.#options;
    if (instrument !== undefined) this.#observe(() => instrument(record));
    for (const view of views) this.#observe(() => view(record));
    if (this.#state === undefined || (this.#emitter === undefined && this.#queues === undefined)) return;
    for (const body of eventsOf(record, this.#state)) this.#emit(body);
  }

  #emit(body: EventBody): void {
    if (this.#emitter === undefined && this.#queues === undefined) return;
    this.#seq += 1;
    const event = { ...body, seq: this.#seq } as RunEvent;
    this.#emitter?.emit(event.type, event);
    if (this.#queues !== undefined) for (const queue of this.#queues) queue.push(event);
  }

  async #run(origin: Origin): Promise<RunResult<Output>> {
    await undefined;
    const { signal } = this.#options;
    const abort = signal && (() => this.#tree.stops.add(this.#tree.root.path, ABORTED));
    try {
      const start = 'start' in origin ? await this.#create(origin.start) : await origin.begin(this.#tree);
      if ('status' in start) return this.#isOver(start);
      if (!('start' in origin)) this.#open(start);
      if (signal?.aborted) this.#tree.stops.add(this.#tree.root.path, ABORTED);
      if (abort !== undefined) signal?.addEventListener('abort', abort, { once: true });
      const ending = await within(this.id, () => this.#tree.begin(start));
      return await this.#finish(ending);
    } catch (thrown) {
      // Nobody waits for the rest of the tree any more: it must not go on working unseen.
      this.#tree.stops.add(this.#tree.root.path, { status: 'cancelled', reason: 'The run failed.' });
      if (this.#tree.isReplay) this.#tree.journal.showPlayed();
      this.#failed(thrown);
      this.#silence();
      this.#tree.log?.abandon();
      await this.#flush();
      throw thrown;
    } finally {
      this.#tree.clear();
      if (abort !== undefined) signal?.removeEventListener('abort', abort);
      this.#end();
    }
  }

  async #create(start: Start): Promise<Start> {
    const { journal } = this.#options;
    if (journal !== undefined) this.#tree.attach(await journal.create({ id: this.id, agent: this.#tree.root.agent }));
    return start;
  }

  async #finish(ending: Ending): Promise<RunResult<Output>> {
    const tree = this.#tree;
    if (ending.status === 'completed') tree.checkLeftovers();
    tree.finish(ending, this.#since);
    if (tree.isReplay) tree.journal.showPlayed();
    const result = agentResult(ending, tree, tree.parked) as RunResult<Output>;
    await tree.log?.close(ending.status, asJson(result), asJson(tree.parked) as readonly Json[]);
    this.#silence();
    await this.#flush();
    const afterwards = tree.isReplay ? undefined : tree.memories.afterwards(ending.status);
    // Loaded late: it starts runs, as what calls this does.
    if (afterwards !== undefined) this.#afterwards = (await import('./after-run.ts')).afterRun(tree, afterwards);
    return result;
  }

  /** A run that is over: its result comes back, and nothing is written. */
  #isOver(result: RunResult): RunResult<Output> {
    const at = { ...this.#at(this.#tree.root, '@run', 0), since: timeNow() };
    this.#emit(runEnd(at, result));
    return result as RunResult<Output>;
  }

  #failed(thrown: unknown): void {
    const error: ErrorRecord = { kind: 'failed', message: messageOf(thrown), retryable: false };
    const { root, instrument } = this.#tree;
    if (instrument?.abandon !== undefined) this.#observe(() => instrument.abandon?.(this.id, error, timeNow()));
    this.#emit(runFailed({ ...this.#at(root, '@run', 0), since: this.#since }, error, root.treeUsage()));
  }

  #end(): void {
    this.#silence();
    if (this.#queues !== undefined) for (const queue of this.#queues) queue.end();
  }

  /** Work that was abandoned may still speak: nothing of it is shown after the end. */
  #silence(): void {
    this.#ended = true;
    const { sink } = this.#tree;
    sink.record = undefined;
    sink.delta = undefined;
    sink.progress = undefined;
  }

  async #flush(): Promise<void> {
    const { instrument } = this.#tree;
    const { views } = this.#options;
    const all = instrument === undefined ? views : [...views, instrument];
    if (all.length === 0) return;
    await Promise.all(
      all.map(async (view) => {
        try {
          await view.flush?.();
        } catch (error) {
          this.#observerFailed(error);
        }
      }),
    );
  }
}

/** The decision, with its value as the question's schema gives it. */
function fittingDecision(
  request: ApprovalRequest | WaitRequest,
  decision: Decision,
  check: (value: unknown) => Validation<unknown>,
): Decision {
  const fault = readDecision(decision);
  if (typeof fault === 'string')
    throw new ConfigurationError('decision', fault, "Write for example { decision: 'allow' }.");
  const [what, answers, mend] = ANSWERS[request.reason] ?? AN_APPROVAL;
  if (!answers.includes(decision.decision))
    throw new ConfigurationError('decision', `${decision.decision} does not answer ${what}`, `Write ${mend}.`);
  if (decision.decision !== 'answer') return decision;
  const checked = check(decision.value);
  if (checked.ok) return { decision: 'answer', value: checked.value as Json };
  const problem = checked.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new ConfigurationError('decision.value', problem, 'Give a value that the question’s schema takes.');
}

const AN_APPROVAL = ['an approval', ['allow', 'deny'], "{ decision: 'allow' } or 'deny'"] as const;

const ANSWERS: { readonly [reason: string]: readonly [string, readonly string[], string] } = {
  wait: ['a question', ['answer', 'deny'], "{ decision: 'answer', value } or 'deny'"],
  unknown: [
    'what became of a call',
    ['happened', 'retry', 'failed', 'deny'],
    "{ decision: 'happened', value }, 'retry' or 'failed'",
  ],
};

const ABORTED = Object.freeze({ status: 'aborted', reason: 'The caller’s signal was aborted.' } as const);

function noop(): void {}

/** Where a run comes from: it starts, or goes on from records (or is found to be over). */
export type Origin = { readonly start: Start } | { begin(tree: RunTree): Promise<Start | RunResult> };

function beginningJson({ root, limits, child }: RunTree, { brief, value }: Start): Json | undefined {
  const parentRun = child?.parent.run;
  return asJson({ brief, value, shared: root.shared, limits, agentLimits: root.limits, parentRun });
}
