/**
 * Tokens of one model call, as the provider reported them. Input includes what was read from or written to a cache. A type
 * and no interface, so that it counts as JSON.
 */
export type CallUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
};

/** Tokens of many calls. A call whose provider reported none counts in `modelCalls` only: unknown is not zero. */
export interface Usage extends CallUsage {
  readonly modelCalls: number;
  readonly modelCallsWithUsage: number;
}

export const NO_USAGE: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  modelCalls: 0,
  modelCallsWithUsage: 0,
});

const COUNTS = ['inputTokens', 'outputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** Why a reported usage cannot be counted, or undefined where it can. Counts are whole and not negative. */
export function usageFault(usage: CallUsage): string | undefined {
  for (const name of COUNTS) {
    const count: unknown = usage[name];
    if (count === undefined && name !== 'inputTokens' && name !== 'outputTokens') continue;
    if (!Number.isSafeInteger(count) || (count as number) < 0) return `usage.${name}: expected a whole number ≥ 0`;
  }
  return undefined;
}

/** The sum, or undefined where it would pass 2^53 − 1. */
export function addUsage(a: Usage, b: Usage): Usage | undefined {
  const sum: { -readonly [Count in keyof Usage]: Usage[Count] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    modelCalls: a.modelCalls + b.modelCalls,
    modelCallsWithUsage: a.modelCallsWithUsage + b.modelCallsWithUsage,
  };
  for (const name of ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens'] as const) {
    if (a[name] !== undefined || b[name] !== undefined) sum[name] = (a[name] ?? 0) + (b[name] ?? 0);
  }
  return Object.values(sum).every(Number.isSafeInteger) ? sum : undefined;
}

/** Two attempts of one call as one; what only one of them reported counts alone. */
export function sumOf(a: CallUsage | undefined, b: CallUsage | undefined): CallUsage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const sum = addUsage(usageOfCall(a), usageOfCall(b));
  if (sum === undefined) return b;
  const { modelCalls, modelCallsWithUsage, ...usage } = sum;
  return usage;
}

/** One call as a sum of one. */
export function usageOfCall(usage: CallUsage | undefined): Usage {
  return usage === undefined ? { ...NO_USAGE, modelCalls: 1 } : { ...usage, modelCalls: 1, modelCallsWithUsage: 1 };
}
