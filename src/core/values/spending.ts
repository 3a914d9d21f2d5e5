import { addUsage, type CallUsage, NO_USAGE, type Usage, usageOfCall } from './usage.ts';

/**
 * What model calls spent. Money is counted in whole picodollars (10⁻¹² USD), so that sums are exact in whatever order they
 * are made; a cost that is not known is counted as such, since unknown is not zero.
 */
export interface Spending {
  readonly usage: Usage;
  readonly picoUsd: number;
  /** Calls whose cost is not known. */
  readonly unpriced: number;
}

/** What the ledger charged for a call. A type and no interface, so that it counts as JSON. */
export type Charge = {
  readonly tokens: number;
  readonly picoUsd: number;
  /** What of it is an estimate: its provider reported nothing. */
  readonly estimated?: readonly ('tokens' | 'picoUsd')[];
  /** By how much it is more than was reserved: the error of an estimate. */
  readonly over?: { readonly tokens: number; readonly picoUsd: number };
};

export const NOTHING_SPENT: Spending = Object.freeze({ usage: NO_USAGE, picoUsd: 0, unpriced: 0 });

const PICO = 1e12;

export function toPicoUsd(usd: number): number {
  return Math.round(usd * PICO);
}

export function fromPicoUsd(picoUsd: number): number {
  return picoUsd / PICO;
}

/** Kinds of failures after which a provider had written an answer, which it bills. */
const ANSWERED: ReadonlySet<string> = new Set([
  'output_truncated',
  'content_filter',
  'refusal',
  'malformed_response',
  'empty_response',
]);

/** Whether a call that failed so was answered, and thus paid for. What broke off or was turned away counts as free. */
export function wasAnswered(kind: string): boolean {
  return ANSWERED.has(kind);
}

/** What one call spent. `failed` is the kind of its error, where it gave no turn. */
export function spendingOfCall(usage: CallUsage | undefined, costUsd: number | undefined, failed?: string): Spending {
  const isFree = failed !== undefined && usage === undefined && !wasAnswered(failed);
  return {
    usage: usageOfCall(usage),
    picoUsd: costUsd === undefined ? 0 : toPicoUsd(costUsd),
    unpriced: costUsd === undefined && !isFree ? 1 : 0,
  };
}

/** The sum, or undefined where tokens would pass 2^53 − 1. */
export function addSpending(a: Spending, b: Spending): Spending | undefined {
  const usage = addUsage(a.usage, b.usage);
  if (usage === undefined) return undefined;
  return { usage, picoUsd: a.picoUsd + b.picoUsd, unpriced: a.unpriced + b.unpriced };
}

/** A sum that came from elsewhere. */
export function spendingOf({ usage, costUsd }: { readonly usage: Usage; readonly costUsd?: number }): Spending {
  const isUnpriced = costUsd === undefined && usage.modelCalls > 0;
  return { usage, picoUsd: costUsd === undefined ? 0 : toPicoUsd(costUsd), unpriced: isUnpriced ? 1 : 0 };
}

/** In USD; undefined where the cost of any call is not known, and where there was none. */
export function costUsd({ usage, picoUsd, unpriced }: Spending): number | undefined {
  return usage.modelCalls === 0 || unpriced > 0 ? undefined : fromPicoUsd(picoUsd);
}
