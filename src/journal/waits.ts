import type { ApprovalRequest, Decision, WaitRequest } from '../core/contract/permission.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Outcome } from '../core/runtime/journal.ts';
import { type Interruptible, type Stops, stopped } from '../core/runtime/stops.ts';
import type { Schema, Validation } from '../core/schema/schema.ts';
import type { Json } from '../core/values/json.ts';
import type { Stop } from '../core/values/status.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';

export type Request = ApprovalRequest | WaitRequest;

/** Called when a question opens (1) and when it is over (-1). */
export interface WaitWatcher {
  waiting(self: Invocation, by: 1 | -1): void;
}

/** `time` is when it was made, in milliseconds since 1970. */
interface TimedDecision {
  readonly decision: Decision;
  readonly time: number;
}

interface Open extends Interruptible {
  readonly self: Invocation;
  readonly request: Request;
  close(outcome: Outcome<Decision>): void;
  /** The approve callback was asked and has not answered. */
  asked: boolean;
}

const EXPIRED: Decision = Object.freeze({ decision: 'deny', reason: 'the approval expired' });

/** The decision on a request that expired before it opened. */
const EXPIRED_BEFORE = Object.freeze({ decision: EXPIRED, time: 0 });

/** Questions of a run that wait for a person or another process. */
export class Waits {
  #open: Map<string, Open> | undefined;
  #schemas: Map<string, Schema> | undefined;
  /** Ids of those that are over. */
  #answered: Set<string> | undefined;
  /** What other processes decided, by request. */
  #decided: Map<string, TimedDecision> | undefined;
  readonly #stops: Stops;
  readonly #watcher: WaitWatcher;

  constructor(stops: Stops, watcher: WaitWatcher) {
    this.#stops = stops;
    this.#watcher = watcher;
  }

  pending(): Request[] {
    return [...(this.#open?.values() ?? [])].map(({ request }) => request);
  }

  get(id: string): Request | undefined {
    return this.#open?.get(id)?.request;
  }

  /** Whether it was open, and was answered or expired. */
  wasAnswered(id: string): boolean {
    return this.#answered?.has(id) === true;
  }

  /** The form of the answer to a question that is about to be asked. */
  expect(id: string, schema: Schema): void {
    this.#schemas ??= new Map();
    this.#schemas.set(id, schema);
  }

  /** The answer as its schema gives it, or why it is none. */
  check(id: string, value: unknown): Validation<unknown> {
    return this.#schemas?.get(id)?.validate(value) ?? { ok: true, value };
  }

  /** The open requests that no approve callback was asked for. */
  unasked(): Request[] {
    return [...(this.#open?.values() ?? [])].filter(({ asked }) => !asked).map(({ request }) => request);
  }

  /** Notes that the approve callback is asked; its answer comes by `decide`. */
  asked(id: string): void {
    const open = this.#open?.get(id);
    if (open !== undefined) open.asked = true;
  }

  open(self: Invocation, request: Request): Promise<Outcome<Decision>> {
    this.#watcher.waiting(self, 1);
    this.#open ??= new Map();
    const all = this.#open;
    return new Promise((resolve) => {
      const deadline = request.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(request.expiresAt);
      // A request that expired before it opened is answered like one that was decided before: the run must not park on it.
      const decided = this.#decided?.get(request.id) ?? (deadline <= Date.now() ? EXPIRED_BEFORE : undefined);
      let timer: NodeJS.Timeout | undefined;
      const tick = () => {
        const remainingMs = deadline - Date.now();
        if (remainingMs <= 0) this.decide(request.id, EXPIRED);
        else timer = setTimeout(tick, Math.min(remainingMs, LONGEST_TIMER_MS));
      };
      const close = (outcome: Outcome<Decision>) => {
        clearTimeout(timer);
        all.delete(request.id);
        this.#stops.leave(open);
        this.#watcher.waiting(self, -1);
        resolve(outcome);
      };
      const interrupt = (stop: Stop) => close(stopped(stop));
      const open: Open = { key: request.id, self, request, asked: decided !== undefined, close, interrupt };
      all.set(request.id, open);
      this.#stops.enter(open);
      if (decided === undefined && Number.isFinite(deadline)) tick();
      // In the next turn: what waits must be recorded before it is answered.
      if (decided !== undefined) setImmediate(() => this.#answer(request.id, decided));
    });
  }

  /**
   * A decision of another process, also before its request is open. One that the question's schema refuses does not count. `time`
   * is when it was made, in milliseconds since 1970: the request may have expired while no process ran the run.
   */
  deliver(id: string, decision: Decision, time: number): void {
    if (this.wasAnswered(id) && !this.#open?.has(id)) return;
    this.#decided ??= new Map();
    const decided = this.#decided.get(id) ?? { decision, time };
    this.#decided.set(id, decided);
    if (this.#open?.has(id)) this.#answer(id, decided);
  }

  #answer(id: string, { decision, time }: TimedDecision): void {
    const open = this.#open?.get(id);
    if (open === undefined) return;
    const { expiresAt } = open.request;
    if (expiresAt !== undefined && time > Date.parse(expiresAt)) return void this.decide(id, EXPIRED);
    if (decision.decision !== 'answer') return void this.decide(id, decision);
    const checked = this.check(id, decision.value);
    if (checked.ok) this.decide(id, { decision: 'answer', value: checked.value as Json });
    // The request stays open for an answer that fits.
    else open.asked = false;
  }

  /** The first decision wins. False where nothing waits under this id. */
  decide(id: string, decision: Decision): boolean {
    const open = this.#open?.get(id);
    if (open === undefined) return false;
    this.#answered ??= new Set();
    this.#answered.add(id);
    open.close({ ok: true, value: decision });
    return true;
  }
}
