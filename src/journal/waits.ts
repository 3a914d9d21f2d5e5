import type { Invocation } from '../core/invocation.ts';
import type { Outcome } from '../core/journal.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { Schema, Validation } from '../core/schema.ts';
import type { Stop } from '../core/status.ts';
import { type Interruptible, type Stops, stopError } from '../core/stops.ts';
import { LONGEST_TIMER_MS } from '../core/time.ts';

export type Request = ApprovalRequest | WaitRequest;

interface Open extends Interruptible {
  readonly self: Invocation;
  readonly request: Request;
  settle(outcome: Outcome<Decision>): void;
  /** Somebody was asked and has not answered. */
  asked: boolean;
}

/** Questions of a run that wait for a person or another process. */
export class Waits {
  readonly #open = new Map<string, Open>();
  readonly #schemas = new Map<string, Schema>();
  readonly #stops: Stops;
  readonly #changed: (self: Invocation, waiting: 1 | -1) => void;

  constructor(stops: Stops, changed: (self: Invocation, waiting: 1 | -1) => void) {
    this.#stops = stops;
    this.#changed = changed;
  }

  pending(): Request[] {
    return [...this.#open.values()].map(({ request }) => request);
  }

  get(id: string): Request | undefined {
    return this.#open.get(id)?.request;
  }

  /** The form of the answer to a question that is about to be asked. */
  expect(id: string, schema: Schema): void {
    this.#schemas.set(id, schema);
  }

  /** The answer as its schema gives it, or why it is none. */
  check(id: string, value: unknown): Validation<unknown> {
    return this.#schemas.get(id)?.validate(value) ?? { ok: true, value };
  }

  /** Those that nobody present was asked. */
  unasked(): Request[] {
    return [...this.#open.values()].filter(({ asked }) => !asked).map(({ request }) => request);
  }

  /** Asks somebody present; what they throw or answer wrongly is a denial, told by `decide`. */
  asked(id: string): void {
    const open = this.#open.get(id);
    if (open !== undefined) open.asked = true;
  }

  open(self: Invocation, request: Request): Promise<Outcome<Decision>> {
    this.#changed(self, 1);
    return new Promise((resolve) => {
      const expiresMs = request.expiresAt === undefined ? undefined : Date.parse(request.expiresAt) - Date.now();
      const expire = () => this.decide(request.id, { decision: 'deny', reason: 'the approval expired' });
      const timer =
        expiresMs === undefined ? undefined : setTimeout(expire, Math.min(Math.max(0, expiresMs), LONGEST_TIMER_MS));
      const settle = (outcome: Outcome<Decision>) => {
        clearTimeout(timer);
        this.#open.delete(request.id);
        this.#stops.leave(open);
        this.#changed(self, -1);
        resolve(outcome);
      };
      const interrupt = (stop: Stop) => settle({ ok: false, error: stopError(stop), stop });
      const open: Open = { key: request.id, self, request, asked: false, settle, interrupt };
      this.#open.set(request.id, open);
      this.#stops.enter(open);
    });
  }

  /** The first decision wins. False where nothing waits under this id. */
  decide(id: string, decision: Decision): boolean {
    const open = this.#open.get(id);
    if (open === undefined) return false;
    open.settle({ ok: true, value: decision });
    return true;
  }
}
