import type { Invocation } from '../core/invocation.ts';
import type { Outcome } from '../core/journal.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { Schema, Validation } from '../core/schema.ts';
import type { Stop } from '../core/status.ts';
import { type Interruptible, type Stops, stopError } from '../core/stops.ts';
import { LONGEST_TIMER_MS } from '../core/time.ts';

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

/** Questions of a run that wait for a person or another process. */
export class Waits {
  #open: Map<string, Open> | undefined;
  #schemas: Map<string, Schema> | undefined;
  /** What other processes decided, by request. */
  #told: Map<string, Decision> | undefined;
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
      const expiresMs = request.expiresAt === undefined ? undefined : Date.parse(request.expiresAt) - Date.now();
      const expire = () => this.decide(request.id, { decision: 'deny', reason: 'the approval expired' });
      const timer =
        expiresMs === undefined ? undefined : setTimeout(expire, Math.min(Math.max(0, expiresMs), LONGEST_TIMER_MS));
      const settle = (outcome: Outcome<Decision>) => {
        clearTimeout(timer);
        all.delete(request.id);
        this.#stops.leave(open);
        this.#watcher.waiting(self, -1);
        resolve(outcome);
      };
      const interrupt = (stop: Stop) => settle({ ok: false, error: stopError(stop), stop });
      const open: Open = { key: request.id, self, request, asked: false, settle, interrupt };
      all.set(request.id, open);
      this.#stops.enter(open);
      const told = this.#told?.get(request.id);
      // In the next turn: what waits must be recorded before it is answered.
      if (told !== undefined) setImmediate(() => this.#answer(request.id, told));
    });
  }

  /** A decision of another process: also before its request is open. One that the question's schema refuses is none. */
  tell(id: string, decision: Decision): void {
    this.#told ??= new Map();
    if (!this.#told.has(id)) this.#told.set(id, decision);
    if (this.#open?.has(id)) this.#answer(id, decision);
  }

  #answer(id: string, decision: Decision): void {
    if (decision.decision === 'answer' && !this.check(id, decision.value).ok) return;
    this.decide(id, decision);
  }

  /** The first decision wins. False where nothing waits under this id. */
  decide(id: string, decision: Decision): boolean {
    const open = this.#open?.get(id);
    if (open === undefined) return false;
    open.settle({ ok: true, value: decision });
    return true;
  }
}
