import type { ApprovalRequest, Decision, WaitRequest } from '../core/contract/permission.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Outcome } from '../core/runtime/journal.ts';
import { type Interruptible, type Stops, stopped } from '../core/runtime/stops.ts';
import type { Schema, Validation } from '../core/schema/schema.ts';
import type { Json } from '../core/values/json.ts';
import type { Stop } from '../core/values/status.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';

export type Request = ApprovalRequest | WaitRequest;

/** Told when a question opens and when it is over. */
export interface WaitWatcher {
  waiting(self: Invocation, by: 1 | -1): void;
}

interface Open extends Interruptible {
  readonly self: Invocation;
  readonly request: Request;
  settle(outcome: Outcome<Decision>): void;
  /** Somebody was asked and has not answered. */
  asked: boolean;
}

const EXPIRED: Decision = Object.freeze({ decision: 'deny', reason: 'the approval expired' });

/** Nobody decided in time. */
const OVER = Object.freeze({ decision: EXPIRED, time: 0 });

/** Questions of a run that wait for a person or another process. */
export class Waits {
  #open: Map<string, Open> | undefined;
  #schemas: Map<string, Schema> | undefined;
  /** Ids of those that are over. */
  #answered: Set<string> | undefined;
  /** What other processes decided, by request. */
  #told: Map<string, { readonly decision: Decision; readonly time: number }> | undefined;
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

  /** Whether it was open, and somebody answered it or its time was over. */
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

  /** Those that nobody present was asked. */
  unasked(): Request[] {
    return [...(this.#open?.values() ?? [])].filter(({ asked }) => !asked).map(({ request }) => request);
  }

  /** Asks somebody present; what they throw or answer wrongly is a denial, told by `decide`. */
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
      // What was over before it opened is answered like what was decided before: the run must not park on it.
      const told = this.#told?.get(request.id) ?? (deadline <= Date.now() ? OVER : undefined);
      let timer: NodeJS.Timeout | undefined;
      const tick = () => {
        const left = deadline - Date.now();
        if (left <= 0) this.decide(request.id, EXPIRED);
        else timer = setTimeout(tick, Math.min(left, LONGEST_TIMER_MS));
      };
      const settle = (outcome: Outcome<Decision>) => {
        clearTimeout(timer);
        all.delete(request.id);
        this.#stops.leave(open);
        this.#watcher.waiting(self, -1);
        resolve(outcome);
      };
      const interrupt = (stop: Stop) => settle(stopped(stop));
      const open: Open = { key: request.id, self, request, asked: told !== undefined, settle, interrupt };
      all.set(request.id, open);
      this.#stops.enter(open);
      if (told === undefined && Number.isFinite(deadline)) tick();
      // In the next turn: what waits must be recorded before it is answered.
      if (told !== undefined) setImmediate(() => this.#answer(request.id, told));
    });
  }

  /**
   * A decision of another process: also before its request is open. One that the question's schema refuses is none. `time` is
   * when it was made, in milliseconds since 1970: the process may have been away while the request expired.
   */
  tell(id: string, decision: Decision, time: number): void {
    if (this.wasAnswered(id) && !this.#open?.has(id)) return;
    this.#told ??= new Map();
    const told = this.#told.get(id) ?? { decision, time };
    this.#told.set(id, told);
    if (this.#open?.has(id)) this.#answer(id, told);
  }

  #answer(id: string, { decision, time }: { readonly decision: Decision; readonly time: number }): void {
    const open = this.#open?.get(id);
    if (open === undefined) return;
    const { expiresAt } = open.request;
    if (expiresAt !== undefined && time > Date.parse(expiresAt)) return void this.decide(id, EXPIRED);
    if (decision.decision !== 'answer') return void this.decide(id, decision);
    const checked = this.check(id, decision.value);
    if (checked.ok) this.decide(id, { decision: 'answer', value: checked.value as Json });
    // It still waits for one that fits.
    else open.asked = false;
  }

  /** The first decision wins. False where nothing waits under this id. */
  decide(id: string, decision: Decision): boolean {
    const open = this.#open?.get(id);
    if (open === undefined) return false;
    this.#answered ??= new Set();
    this.#answered.add(id);
    open.settle({ ok: true, value: decision });
    return true;
  }
}
