import type { Model, RetryOptions } from '../core/values/model.ts';
import { checkRetry } from './options.ts';

/**
 * The same model with other retries; of a fallback, each of its models. The dispatch reads them; `generate` never repeats anything.
 *
 * @throws ConfigurationError where an option is unknown or no whole number
 * @example withRetry(openai('gpt-5.4-mini'), { retries: 1 })
 */
export function withRetry(model: Model, retry: RetryOptions): Model {
  checkRetry(retry);
  const { limits, timeoutMs, needsMaxOutputTokens, price, candidates, server } = model;
  return Object.freeze({
    provider: model.provider,
    id: model.id,
    ...(limits === undefined ? {} : { limits }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(needsMaxOutputTokens === undefined ? {} : { needsMaxOutputTokens }),
    ...(price === undefined ? {} : { price }),
    ...(candidates === undefined
      ? {}
      : { candidates: Object.freeze(candidates.map((candidate) => withRetry(candidate, retry))) }),
    ...(server === undefined ? {} : { server }),
    retry: Object.freeze({ ...retry }),
    ...(model.check === undefined ? {} : { check: (request) => model.check?.(request) }),
    // Called on the model itself, which may be a class with private fields.
    generate: (request, context) => model.generate(request, context),
  } satisfies Model);
}
