import { chargedFor, type DetachedChild, type DetachedOutcome } from '../../core/contract/detached.ts';
import type { EffectEnd, Span } from '../../core/contract/record.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Attempt, DetachedCall, Outcome } from '../../core/runtime/journal.ts';
import { type ErrorRecord, messageOf } from '../../core/values/errors.ts';
import { type Charge, fromPicoUsd } from '../../core/values/spending.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { type Amount, NOTHING } from '../budget/account.ts';
import type { ReservedCounts } from '../budget/reserved-counts.ts';

/** What starting a detached child uses of the run it belongs to. */
interface ChildRunner {
  readonly options: { readonly journal: RecordStore | undefined };
  readonly root: Invocation;
  readonly starter: {
    /** Runs the child in this process. */
    runHere(child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome>;
  };
}

/** What a stretch uses of the run that the child belongs to. */
export interface DetachedRun extends ChildRunner {
  readonly graceMs: number;
  readonly cancellation: {
    /** True once the run was stopped in a way that a resume continues. */
    readonly isInterrupted: boolean;
  };
}

/** Time beyond its own grace in which the child reports its outcome. */
const TO_REPORT_MS = 2_000;

/** What a stretch continues from. */
export interface PriorStretch {
  /** The outcome of the stretch before. */
  readonly before: DetachedOutcome | undefined;
  readonly reserved: ReservedCounts;
  /** Called with what it had spent when it was interrupted with its run, which is no outcome. */
  interrupted(outcome: DetachedOutcome): void;
}

/** One stretch of a detached child, until it ends or waits for a person. It is charged for what it spent since the stretch before. */
export class DetachedStretch implements DetachedCall {
  readonly kind = 'child';
  /** Called again it continues, under the same run id. */
  readonly sideEffect = 'idempotent';
  readonly onUnknownOutcome = 'retry';
  /** Its own limits and its parent's deadline end it. */
  readonly timeoutMs = LONGEST_TIMER_MS;
  readonly step = 0;
  readonly graceMs: number;
  readonly key: string;
  readonly self: Invocation;
  readonly child: DetachedChild;
  readonly #prior: PriorStretch;
  readonly #run: DetachedRun;

  constructor(run: DetachedRun, self: Invocation, key: string, child: DetachedChild, prior: PriorStretch) {
    this.graceMs = run.graceMs + TO_REPORT_MS;
    this.#run = run;
    this.self = self;
    this.key = key;
    this.child = child;
    this.#prior = prior;
  }

  get parent(): Span {
    return this.self.span;
  }

  worst() {
    const { tokens } = this.child.grant.limits;
    return { input: 0, output: tokens === undefined ? 1 : Math.max(1, tokens - this.#spentTokens), fixed: true };
  }

  /** The rest of its grant. */
  worstCost(): number | undefined {
    const { costUsd } = this.child.grant.limits;
    return costUsd === undefined ? undefined : Math.max(0, costUsd - fromPicoUsd(this.#chargedBefore.picoUsd));
  }

  get #spentTokens(): number {
    return this.#chargedBefore.tokens;
  }

  get #chargedBefore(): Amount {
    const { before } = this.#prior;
    return before === undefined ? NOTHING : chargedFor(before);
  }

  /** Interrupted with its run it has no outcome, and a resume continues it. */
  async execute(attempt: Attempt): Promise<DetachedOutcome> {
    const outcome = await runChild(this.#run, this.child, attempt.signal);
    this.#prior.reserved.used(outcome);
    if (outcome.status !== 'aborted' || !this.#run.cancellation.isInterrupted) return outcome;
    this.#prior.interrupted(outcome);
    throw new Error('interrupted with its run');
  }

  usage({ usage }: DetachedOutcome): CallUsage {
    const before = this.#prior.before?.usage;
    const inputTokens = usage.inputTokens - (before?.inputTokens ?? 0);
    return { inputTokens, outputTokens: usage.outputTokens - (before?.outputTokens ?? 0) };
  }

  cost({ costUsd }: DetachedOutcome): number | undefined {
    return costUsd === undefined ? undefined : costUsd - (this.#prior.before?.costUsd ?? 0);
  }

  /** As its own ledger counts it, with estimates for what its providers did not report. */
  charged(outcome: DetachedOutcome): Charge {
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

  ended(outcome: Outcome<DetachedOutcome>): EffectEnd {
    if (outcome.ok) return { kind: 'child', event: 'done', value: outcome.value };
    return { kind: 'child', event: outcome.stop === undefined ? 'failed' : 'cancel', value: outcome.error };
  }
}

/** Runs a detached child where the journal of its parent runs them, else in this process. Its spans lie below its node's. */
function runChild(run: ChildRunner, child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome> {
  const spanned = { ...child, ...spanAbove(run, child) };
  const { runDetached } = run.options.journal ?? {};
  return runDetached === undefined ? run.starter.runHere(spanned, signal) : runDetached(spanned, signal);
}

function spanAbove({ root }: ChildRunner, { parent }: DetachedChild): Pick<DetachedChild, 'span'> {
  const self = root.find(parent.key);
  const handle = self?.span.handle;
  if (self === undefined || handle === undefined || Number.parseInt(handle.spanId, 16) === 0) return {};
  return { span: { traceId: handle.traceId, spanId: handle.spanId, since: String(self.since) } };
}
