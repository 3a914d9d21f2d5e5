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

/** The sum, or undefined where it would pass 2^53 − 1. At each model call: no list of names is gone through where none is needed. */
export function addUsage(a: Usage, b: Usage): Usage | undefined {
  const inputTokens = a.inputTokens + b.inputTokens;
  const outputTokens = a.outputTokens + b.outputTokens;
  const modelCalls = a.modelCalls + b.modelCalls;
  const modelCallsWithUsage = a.modelCallsWithUsage + b.modelCallsWithUsage;
  if (!Number.isSafeInteger(inputTokens) || !Number.isSafeInteger(outputTokens)) return undefined;
  const sum = { inputTokens, outputTokens, modelCalls, modelCallsWithUsage };
  return hasParts(a) || hasParts(b) ? addParts(sum, a, b) : sum;
}

const PARTS = ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

function hasParts({ cachedInputTokens, cacheWriteTokens, reasoningTokens }: Usage): boolean {
  return cachedInputTokens !== undefined || cacheWriteTokens !== undefined || reasoningTokens !== undefined;
}

function addParts(whole: Usage, a: Usage, b: Usage): Usage | undefined {
  const sum: { -readonly [Count in keyof Usage]: Usage[Count] } = { ...whole };
  for (const name of PARTS) {
    if (a[name] !== undefined || b[name] !== undefined) sum[name] = (a[name] ?? 0) + (b[name] ?? 0);
  }
  return PARTS.every((name) => Number.isSafeInteger(sum[name] ?? 0)) ? sum : undefined;
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
