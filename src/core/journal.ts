import type { ErrorRecord } from './errors.ts';
import type { Json } from './json.ts';
import type { RetryOptions } from './model.ts';
import type { ApprovalRequest, Decision, WaitRequest } from './permission.ts';
import type { Draft, Place } from './record.ts';
import type { OnInDoubt, SideEffect } from './tool.ts';
import type { CallUsage } from './usage.ts';

/** What an effect gave. Failures are outcomes too: they are recorded and replayed. */
export type Outcome<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ErrorRecord };

/** An attempt that is under way: what `execute` may ask of it. The signal exists once it is read. */
export interface Attempt {
  readonly number: number;
  readonly signal: AbortSignal;
}

/** One effect: what it is, where it stands, how to do it. */
export interface Call<T = unknown> {
  readonly key: string;
  readonly kind: 'model' | 'tool' | 'memory' | 'embedding';
  readonly place: Place;
  readonly step: number;
  /** What the `started` record shows. */
  readonly facts: Draft['request'];
  readonly sideEffect: SideEffect;
  readonly onInDoubt: OnInDoubt;
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** What the ledger reserves before the call; absent where it spends no tokens. */
  readonly worst?: { readonly tokens: number };
  /** Who is asked before it runs at once with others: calls of one provider share a gate. */
  readonly gate?: string;
  readonly retry?: RetryOptions;
  execute(attempt: Attempt): T | Promise<T>;
  /** What was thrown, as an error to record. */
  failure(thrown: unknown): ErrorRecord;
  /** What the outcome spent. */
  usage?(value: T): CallUsage | undefined;
}

/** The one port to the outside world. `effect` rejects only with JournalError, FencedError, DivergenceError, which no layer catches. */
export interface Journal {
  effect<T>(call: Call<T>): Promise<Outcome<T>>;
  /** The recorded value, if there is one, else what `propose` gives, recorded. */
  once<T extends Json>(key: string, place: Place, step: number, propose: () => T): T | Promise<T>;
  /** Approvals, questions, signals. Gives the decision, or the stop that came first. */
  wait(
    key: string,
    place: Place,
    step: number,
    request: ApprovalRequest | WaitRequest,
  ): Promise<Decision | StoppedWait>;
  /** The absolute deadline is recorded. Resolves early, with the error, at a stop. */
  sleep(key: string, place: Place, ms: number): Promise<Outcome<null>>;
  /** A boundary that is no effect: start and end of a run, an agent, a step, a procedure; a refusal; a limit. */
  note(draft: Draft): void;
}

export interface StoppedWait {
  readonly decision: 'stopped';
  readonly error: ErrorRecord;
}
