import type { DetachedChild, DetachedOutcome } from '../contract/detached.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../contract/permission.ts';
import type { Draft, EffectEnd, EffectKind, EffectStart, Span } from '../contract/record.ts';
import type { OnUnknownOutcome, SideEffect } from '../contract/tool.ts';
import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { RetryOptions } from '../values/model.ts';
import type { Charge } from '../values/spending.ts';
import type { Stop } from '../values/status.ts';
import type { CallUsage } from '../values/usage.ts';
import type { Invocation } from './invocation.ts';
import type { Kind, OnceKey, StoredEnd, StoredStart } from './stored-entry.ts';

/** What did not happen, and why. With `stop` it is no outcome: a stop prevented it, and a resume tries again. */
export interface Failure {
  readonly ok: false;
  readonly error: ErrorRecord;
  readonly stop?: Stop;
  /** False of a model call that a hook prevented: it does not count as a call. */
  readonly isAsked?: false;
}

/** What an effect gave. Failures are outcomes too: they are recorded and replayed. */
export type Outcome<T = unknown> = { readonly ok: true; readonly value: T } | Failure;

/** An attempt that is under way: what `execute` may ask of it. The signal exists once it is read. */
export interface Attempt {
  /** Of the attempt under way, counted from 1. */
  readonly number: number;
  /** False between attempts and when all is over: what abandoned work says then is not shown. */
  readonly isLive: boolean;
  readonly signal: AbortSignal;
}

/** One effect: what it is, its address, how to do it. */
export interface Call<T = unknown> {
  readonly key: string;
  readonly kind: EffectKind;
  readonly self: Invocation;
  readonly step: number;
  /** The path of the invocation that pays it, where its address does not say it. */
  readonly paidBy?: string | undefined;
  /** The span that encloses the call's own. */
  readonly parent: Span;
  readonly sideEffect: SideEffect;
  readonly onUnknownOutcome: OnUnknownOutcome;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly retry?: RetryOptions;
  /** The provider's endpoint: while it asks to wait, all calls of the process with the same gate wait. */
  readonly gate?: string;
  /** Tokens that the ledger reserves before it runs; asked only under a cap. `fixed` where the output was asked for by number. */
  worst?(): { readonly input: number; readonly output: number; readonly fixed: boolean };
  /** What so many tokens cost at most, in USD; undefined where no price is known. Asked only under a cap in USD. */
  worstCost?(input: number, output: number): number | undefined;
  /** Called before the call starts with the most output tokens that fit under the caps. */
  allow?(output: number): void;
  /** Called when it failed for good: true where there is another candidate, which is then tried. */
  next?(error: ErrorRecord): boolean;
  /** Hashes of the parts of the request, by part; asked only by durable journals. `args` of a tool are recorded as they are. */
  request?(): { readonly [part: string]: Json };
  /** The text of a tool's arguments, as it was written. */
  readonly given?: string;
  /** Other names under which it may have been recorded. */
  readonly aliases?: readonly string[] | undefined;
  /** A value that a person gave, as the outcome. */
  answer?(value: Json): T;
  execute(attempt: Attempt): T | Promise<T>;
  /** Tokens that a value most likely took, where its provider reported none. */
  guess?(value: T): { readonly input: number; readonly output: number };
  /** What was thrown, as an error to record. */
  failure(thrown: unknown): ErrorRecord;
  /** Called before it continues in a later epoch, with the error of the last attempt that failed. */
  resumeAfter?(failed: ErrorRecord): void;
  /** The error of a call that was stopped or timed out, with what its failed attempts had spent. */
  interrupted?(error: ErrorRecord): ErrorRecord;
  /** What the outcome spent, where it was reported. */
  usage?(value: T): CallUsage | undefined;
  /** In USD, where it is known. */
  cost?(value: T): number | undefined;
  /** What the ledger charges for it, where the ledger cannot work that out from usage and cost. */
  charged?(value: T): Charge;
  /** What views are shown at its start and end. */
  started(): EffectStart;
  ended(outcome: Outcome<T>): EffectEnd;
  /** What views are shown where it never started; absent where that is nothing. */
  neverStarted?(failure: Failure): EffectEnd;
}

/** A detached child as an effect. `execute` runs it where this process may; an engine of its own goes by `child`. */
export interface DetachedCall extends Call<DetachedOutcome> {
  readonly kind: 'child';
  readonly child: DetachedChild;
}

/** A cross-cutting concern of effects, in one of two lists: once per call, or once per attempt. It has both phases. */
export interface Layer {
  /** May wait; a failure refuses the call (once per call only). */
  enter?(call: Call<never>, work: Work): Failure | undefined | Promise<Failure | undefined>;
  leave?(call: Call<never>, outcome: Outcome, work: Work): void;
}

/** A call under way, as layers see it. */
export interface Work {
  readonly stop: Stop | undefined;
  /** What a layer keeps between its phases. */
  holdsSlot?: boolean;
  reserved?: { readonly tokens: number; readonly picoUsd: number } | undefined;
  /** What the ledger charged for it. */
  spent?: Charge | undefined;
  /** Called once, when a stop comes while it waits. */
  onStop?: (() => void) | undefined;
}

/** The one port to the outside world. `effect` rejects only with JournalError, FencedError, DivergenceError, which no layer catches. */
export interface Journal {
  effect<T>(call: Call<T>): Promise<Outcome<T>>;
  /** A detached child, by name and JSON: how it ended, or what it waits for. */
  child(call: DetachedCall): Promise<Outcome<DetachedOutcome>>;
  /** Whether an earlier epoch has a record of this key. */
  has(key: string): boolean;
  /** The recorded outcome of a boundary, or its recorded start. What was only interrupted has no outcome. */
  recall<K extends Kind>(kind: K, key: string): StoredEnd<K> | undefined;
  recallStart<K extends Kind>(kind: K, key: string): StoredStart<K> | undefined;
  /** What was decided once. */
  recallOnce<T>(key: OnceKey<T>): T | undefined;
  /** Whether an earlier epoch began the procedure at this path: not where a stop was there before it. */
  hasBegun(path: string): boolean;
  /** A replay shows what was asked of a call and answered; elsewhere nothing. */
  showAsks(key: string, self: Invocation, step: number): void;
  /** The recorded value, if there is one, else what `propose` gives, recorded. */
  once<T>(key: OnceKey<T>, self: Invocation, propose: () => T): T;
  /** Approvals, questions, signals: the decision, or the failure that came first. */
  wait(key: string, self: Invocation, step: number, request: ApprovalRequest | WaitRequest): Promise<Outcome<Decision>>;
  /** The absolute deadline is recorded. */
  sleep(key: string, self: Invocation, ms: number): Promise<Outcome<null>>;
  /** False where records are neither shown nor stored: then nothing needs to be noted. */
  readonly isWatched: boolean;
  /** Whether a later process may continue from its records, or an earlier one began them. */
  readonly isDurable: boolean;
  /** Whether it continues from records of an earlier epoch, or replays them. */
  readonly isResumed: boolean;
  /** A boundary that is no effect: start and end of a run, an agent, a step, a procedure; a refusal; a limit. Gives its time. */
  note(draft: Draft): bigint;
}
