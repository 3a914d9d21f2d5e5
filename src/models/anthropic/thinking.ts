/** Thinking budgets in tokens, for models that need a number. The API requires at least 1,024. */
const BUDGETS: { readonly [effort: string]: number } = { minimal: 1_024, low: 2_048, medium: 8_192, high: 24_576 };

/** How much the model is to think, in the fields of the Messages API. */
export interface Thinking {
  readonly thinking?: unknown;
  readonly effort?: string;
}

/**
 * `reasoningEffort` in the form of the model: models from 4.6 on think adaptively and take the effort in words, Opus 4.5 takes it in
 * words, earlier ones need a number of tokens. `none` turns thinking off.
 */
export function thinkingOf(effort: string | undefined, model: string, maxTokens: number, isForced: boolean): Thinking {
  if (effort === undefined || effort === 'none') return {};
  const words = { effort: effort === 'minimal' ? 'low' : effort };
  if (isAdaptive(model)) return { thinking: { type: 'adaptive' }, ...words };
  if (/opus-4-5/.test(model)) return words;
  // A forced call and thinking exclude each other, and so do an answer shorter than the least budget and thinking.
  if (isForced || maxTokens <= 1_024) return {};
  const budget = Math.min(BUDGETS[effort] ?? BUDGETS.high ?? 1_024, Math.floor(maxTokens / 2));
  return { thinking: { type: 'enabled', budget_tokens: Math.max(1_024, budget) } };
}

function isAdaptive(model: string): boolean {
  const [, major, minor] = /(?:opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(model) ?? [];
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 6);
}
