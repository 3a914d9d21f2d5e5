import { type ApartChild, type ApartOutcome, chargedFor, type RunApart } from '../../core/contract/apart.ts';
import type { EffectEnd, Span } from '../../core/contract/record.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { ApartCall, Attempt, Outcome, Settled } from '../../core/runtime/journal.ts';
import { type ErrorRecord, messageOf } from '../../core/values/errors.ts';
import { fromPicoUsd } from '../../core/values/spending.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { type Amount, NOTHING } from '../budget/account.ts';
import type { HeldCounts } from '../budget/held-counts.ts';

interface ApartRun {
  readonly graceMs: number;
  readonly runApart: RunApart;
  /** True once the run was stopped in a way that a resume takes up again. */
  readonly isInterrupted: boolean;
}

/** What it is given, beyond the grace of its own work, to say how it ended. */
const TO_TELL_MS = 2_000;

/** What a stretch goes on from, and whom it tells. */
export interface ApartPast {
  /** How the stretch before ended. */
  readonly before: ApartOutcome | undefined;
  readonly held: HeldCounts;
  /** Told what it had spent when it was interrupted with its run, which is no outcome. */
  interrupted(outcome: ApartOutcome): void;
}

/** One stretch of a child apart, until it ends or waits for a person. It is paid for what it spent since the stretch before. */
export class ApartStretch implements ApartCall {
  readonly kind = 'child';
  /** Asked for again it goes on, under the same run id. */
  readonly sideEffect = 'idempotent';
  readonly onInDoubt = 'retry';
  /** Its own limits and its parent's deadline end it. */
  readonly timeoutMs = LONGEST_TIMER_MS;
  readonly step = 0;
  readonly graceMs: number;
  readonly key: string;
  readonly self: Invocation;
  readonly child: ApartChild;
  readonly #past: ApartPast;
  readonly #run: ApartRun;

  constructor(run: ApartRun, self: Invocation, key: string, child: ApartChild, past: ApartPast) {
    this.graceMs = run.graceMs + TO_TELL_MS;
    this.#run = run;
    this.self = self;
    this.key = key;
    this.child = child;
    this.#past = past;
  }

  get parent(): Span {
    return this.self.span;
  }

  worst() {
    const { tokens } = this.child.grant.limits;
    return { input: 0, output: tokens === undefined ? 1 : Math.max(1, tokens - this.#spentTokens), fixed: true };
  }

  /** What is left of its grant, however it divides. */
  worstCost(): number | undefined {
    const { costUsd } = this.child.grant.limits;
    return costUsd === undefined ? undefined : Math.max(0, costUsd - fromPicoUsd(this.#chargedBefore.picoUsd));
  }

  get #spentTokens(): number {
    return this.#chargedBefore.tokens;
  }

  get #chargedBefore(): Amount {
    const { before } = this.#past;
    return before === undefined ? NOTHING : chargedFor(before);
  }

  /** Interrupted with its run it has no outcome: it was cut off, and a resume goes on with it. */
  async execute(attempt: Attempt): Promise<ApartOutcome> {
    const outcome = await this.#run.runApart(this.child, attempt.signal);
    this.#past.held.used(outcome);
    if (outcome.status !== 'aborted' || !this.#run.isInterrupted) return outcome;
    this.#past.interrupted(outcome);
    throw new Error('interrupted with its run');
  }

  usage({ usage }: ApartOutcome): CallUsage {
    const before = this.#past.before?.usage;
    const inputTokens = usage.inputTokens - (before?.inputTokens ?? 0);
    return { inputTokens, outputTokens: usage.outputTokens - (before?.outputTokens ?? 0) };
  }

  cost({ costUsd }: ApartOutcome): number | undefined {
    return costUsd === undefined ? undefined : costUsd - (this.#past.before?.costUsd ?? 0);
  }

  /** As its own ledger has it, with the estimates for what its providers did not report. */
  charged(outcome: ApartOutcome): Settled {
    const now = chargedFor(outcome);
    const before = this.#chargedBefore;
    const estimated = outcome.charged?.estimated ?? [];
    return {
      tokens: now.tokens - before.tokens,
      picoUsd: now.picoUsd - before.picoUsd,
      ...(estimated.length > 0 && { estimated }),
    };
  }

  failure(thrown: unknown): ErrorRecord {
    return { kind: 'threw', message: messageOf(thrown), retryable: false };
  }

  started() {
    return { kind: 'child', event: 'started', request: this.child } as const;
  }

  ended(outcome: Outcome<ApartOutcome>): EffectEnd {
    if (outcome.ok) return { kind: 'child', event: 'done', value: outcome.value };
    return { kind: 'child', event: outcome.stop === undefined ? 'failed' : 'cancel', value: outcome.error };
  }
}
