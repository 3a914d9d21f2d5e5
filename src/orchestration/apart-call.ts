import { type ApartChild, type ApartOutcome, nodesOf, type RunApart } from '../core/apart.ts';
import { type ErrorRecord, messageOf } from '../core/errors.ts';
import type { Invocation } from '../core/invocation.ts';
import type { ApartCall, Attempt, Outcome } from '../core/journal.ts';
import type { EffectEnd, Span } from '../core/record.ts';
import { LONGEST_TIMER_MS } from '../core/time.ts';
import type { CallUsage } from '../core/usage.ts';

type Counts = { steps: number; toolCalls: number; agents: number };

interface ApartRun {
  readonly graceMs: number;
  readonly runApart: RunApart;
  readonly count: Counts;
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
  readonly #before: ApartOutcome | undefined;
  readonly #run: ApartRun;

  constructor(run: ApartRun, self: Invocation, key: string, child: ApartChild, before: ApartOutcome | undefined) {
    this.graceMs = run.graceMs;
    this.#run = run;
    this.self = self;
    this.key = key;
    this.child = child;
    this.#before = before;
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
    return costUsd === undefined ? undefined : Math.max(0, costUsd - (this.#before?.costUsd ?? 0));
  }

  get #spentTokens(): number {
    const usage = this.#before?.usage;
    return usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;
  }

  /** All that it may use is held while it runs, so that the caps above hold beside it; then what it used counts. */
  async execute(attempt: Attempt): Promise<ApartOutcome> {
    const { count } = this.#run;
    const { steps = 0, toolCalls = 0, agents = 1 } = this.child.grant.limits;
    const before = countsOf(this.#before);
    const held = {
      steps: steps - before.steps,
      toolCalls: toolCalls - before.toolCalls,
      agents: agents - before.agents,
    };
    add(count, held, 1);
    try {
      const outcome = await this.#run.runApart(this.child, attempt.signal);
      add(count, countsOf(outcome), 1);
      add(count, before, -1);
      return outcome;
    } finally {
      add(count, held, -1);
    }
  }

  usage({ usage }: ApartOutcome): CallUsage {
    const before = this.#before?.usage;
    const inputTokens = usage.inputTokens - (before?.inputTokens ?? 0);
    return { inputTokens, outputTokens: usage.outputTokens - (before?.outputTokens ?? 0) };
  }

  cost({ costUsd }: ApartOutcome): number | undefined {
    return costUsd === undefined ? undefined : costUsd - (this.#before?.costUsd ?? 0);
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

/** The child itself counts already. */
function countsOf(outcome: ApartOutcome | undefined): Counts {
  if (outcome === undefined) return { steps: 0, toolCalls: 0, agents: 1 };
  const { steps, toolCalls, tree } = outcome;
  return { steps, toolCalls, agents: nodesOf(tree) };
}

function add(count: Counts, more: Counts, sign: 1 | -1): void {
  count.steps += sign * Math.max(0, more.steps);
  count.toolCalls += sign * Math.max(0, more.toolCalls);
  count.agents += sign * Math.max(0, more.agents);
}
