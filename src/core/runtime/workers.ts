import { boundText } from '../values/bound-json.ts';
import { ToolError } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import type { UserMessage } from '../values/message.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import type { Cancellation } from './cancellation.ts';
import type { ChildCall, ChildStarter } from './child-starter.ts';
import { Stopped } from './guard.ts';
import type { Inbox } from './inbox.ts';
import type { Invocation } from './invocation.ts';
import type { Journal } from './journal.ts';
import { wasInterrupted } from './prior.ts';
import type { Stops } from './stops.ts';
import { workerId } from './threads.ts';

/** What background workers use of their run. */
interface WorkersRun {
  readonly children: ChildStarter;
  readonly cancellation: Cancellation;
  readonly inbox: Inbox;
  readonly stops: Stops;
  readonly journal: Journal;
}

/** A worker that runs beside its supervisor. */
interface Worker {
  readonly id: string;
  readonly self: Invocation;
  /** Rejects only where infrastructure failed. */
  readonly outcome: Promise<AgentOutcome>;
  isRunning: boolean;
  /** The supervisor's model has its result, or is about to. */
  isGiven: boolean;
}

/** What a worker gave, for its supervisor's model. */
export interface WorkerResult {
  readonly [field: string]: Json;
}

/** The background workers of one invocation. What has ended and was not given waits in the invocation's inbox. */
export class Workers {
  readonly #run: WorkersRun;
  readonly #self: Invocation;
  readonly #all = new Map<string, Worker>();

  constructor(run: WorkersRun, self: Invocation) {
    this.#run = run;
    this.#self = self;
  }

  get running(): readonly string[] {
    return this.#those(({ isRunning }) => isRunning);
  }

  /** Whether one runs, or has ended and its result was not given. */
  get isOpen(): boolean {
    return this.#those(({ isGiven }) => !isGiven).length > 0;
  }

  /** Starts one; a ToolError where it may not. */
  start(child: ChildCall): string {
    const { self, outcome } = this.#run.children.start(child);
    const id = workerId(self);
    const worker: Worker = { id, self, outcome, isRunning: true, isGiven: false };
    this.#all.set(id, worker);
    // Before anything else awaits its outcome.
    void this.#follow(worker);
    return id;
  }

  async #follow(worker: Worker): Promise<void> {
    try {
      await worker.outcome;
    } catch {
      // Infrastructure failed: the supervisor throws that when it takes the result.
    }
    worker.isRunning = false;
    this.#run.inbox.put(this.#self.path, { id: resultId(worker.self), worker: worker.id });
  }

  states(): readonly WorkerResult[] {
    return [...this.#all.values()].map(({ id, self }) => {
      const isWaiting = self.status === 'running' && self.waiting > 0 && self.busy === 0;
      return { id, status: isWaiting ? 'waiting' : self.status, step: self.step };
    });
  }

  /** A ToolError where an id is none of this invocation's. */
  check(ids: readonly string[]): void {
    const unknown = ids.find((id) => !this.#all.has(id));
    if (unknown === undefined) return;
    const all = [...this.#all.keys()].join(', ') || '(none)';
    throw new ToolError(
      'invalid_args',
      `There is no worker ${JSON.stringify(unknown.slice(0, 64))}. Workers are: ${all}.`,
    );
  }

  /** Of these, or of all, those whose results are there and those that run, without what was given before. */
  open(ids: readonly string[] | undefined): { readonly ended: readonly string[]; readonly running: readonly string[] } {
    const asked = (worker: Worker) => !worker.isGiven && (ids === undefined || ids.includes(worker.id));
    return {
      ended: this.#those((worker) => asked(worker) && !worker.isRunning),
      running: this.#those((worker) => asked(worker) && worker.isRunning),
    };
  }

  /** The state of one for a caller that asks for its result, which no other caller gets then. */
  claim(id: string): 'running' | 'ended' | 'given' {
    const worker = this.#all.get(id);
    if (worker === undefined || worker.isGiven) return 'given';
    worker.isGiven = true;
    return worker.isRunning ? 'running' : 'ended';
  }

  /** The result of one, once it has ended; it is given with that. */
  async give(id: string, maxChars: number): Promise<{ readonly result: WorkerResult; readonly label: Label }> {
    const { outcome, worker } = await this.#end(id);
    return { result: { id: worker.id, ...this.#resultOf(worker, outcome, maxChars) }, label: outcome.label };
  }

  /** The result of one as a message, likewise. */
  async message(id: string): Promise<UserMessage> {
    const { outcome, worker } = await this.#end(id);
    const { status, text, error }: { status: string; text: string; error?: string } = this.#resultOf(
      worker,
      outcome,
      DEFAULTS.maxResultChars,
    );
    const cause = error === undefined ? '' : `: ${error}`;
    const content = `Worker ${worker.id}: ${status}${cause}${text === '' ? '' : `\n${text}`}`;
    return Object.freeze({ role: 'user', content, from: worker.self.agent, label: outcome.label });
  }

  async #end(id: string): Promise<{ readonly outcome: AgentOutcome; readonly worker: Worker }> {
    const worker = this.#all.get(id);
    if (worker === undefined) throw new ToolError('threw', `there is no worker ${id}`);
    const outcome = await worker.outcome;
    worker.isGiven = true;
    this.#run.inbox.remove(this.#self.path, resultId(worker.self));
    return { outcome, worker };
  }

  /** What its supervisor's model sees: the status, its text or the JSON of its output, and the cause. */
  #resultOf({ id }: Worker, { status, text, output, error }: AgentOutcome, maxChars: number) {
    const whole = typeof output === 'string' ? output : (JSON.stringify(output) ?? 'null');
    const visible = status === 'completed' ? whole : text;
    const { truncatedResults } = this.#self;
    if (visible.length > maxChars) truncatedResults?.keepAs(id, visible);
    const result = { status, text: boundText(visible, maxChars, truncatedResults && id) };
    if (status === 'completed') return result;
    return { ...result, error: boundText(error?.message ?? 'no cause given', maxChars) };
  }

  /** Resolves when all have ended, or when something else came for the supervisor. */
  async idle(): Promise<void> {
    const { inbox } = this.#run;
    const { path } = this.#self;
    while (this.running.length > 0 && !inbox.hasMessage(path)) await inbox.changed(path);
  }

  /** Stops one and waits until it has ended. */
  async cancel(id: string, reason: string): Promise<void> {
    const worker = this.#all.get(id);
    if (worker === undefined) return;
    if (worker.isRunning) this.#run.cancellation.cancel(worker.self.path, reason);
    await worker.outcome;
  }

  /** Stops those that run, and waits for each: the supervisor does not end before its workers have. */
  async close(reason: string): Promise<void> {
    for (const { self, isRunning } of this.#all.values())
      if (isRunning) this.#run.cancellation.cancel(self.path, reason);
    await Promise.all([...this.#all.values()].map(({ outcome }) => outcome));
  }

  /** Where the supervisor was stopped nothing is decided: its workers are stopped as well. A call that has ended did so before. */
  checkStop(key: string): void {
    const stop = this.#run.stops.at(key);
    if (stop !== undefined && wasInterrupted(this.#run, 'tool', key, stop) !== false) throw new Stopped(stop);
  }

  #those(which: (worker: Worker) => boolean): readonly string[] {
    return [...this.#all.values()].filter(which).map(({ id }) => id);
  }
}

function resultId({ path }: Invocation): string {
  return `@result ${path}`;
}
