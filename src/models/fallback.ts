import { modelFailure } from '../core/values/check-turn.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import type { Model, ModelContext, ModelDelta, ModelRequest, ModelTurn } from '../core/values/model.ts';
import { modelErrorFacts } from '../core/values/model-error-kind.ts';

/**
 * A model that calls the next of `models` when one failed for good.
 *
 * Within a run each model has its own retries (`model.retry`), and each of their attempts is an attempt of the one model call,
 * with its own number, record, gate and deltas: the call continues with the next model when an error is not retryable, requires too long a wait, or its retries are used up. `generate`, for callers outside of a run, tries each model once and passes on the
 * deltas of the one that answered.
 *
 * It continues after `auth`, `permission`, `not_found`, `quota`, `rate_limit`, `overloaded`, `server_error`, `network`, `timeout`,
 * `malformed_response`, `empty_response` and `unknown`. It never does after errors of the request or its content (`invalid_request`, `request_too_large`, `context_length`, `output_truncated`, `content_filter`, `refusal`), nor
 * after an abort. The next call begins with the first model again.
 *
 * It has the first model's name; a turn of another model has that model in `by`, and its native form is sent back to that provider
 * only. Its limits are the smallest of all. Fallbacks in `models` are flattened.
 *
 * @throws ConfigurationError if there is no model, or an entry is none
 * @example fallback([anthropic('claude-sonnet-5'), openai('gpt-5.4-mini')])
 */
export function fallback(models: readonly Model[]): Model {
  if (!Array.isArray(models) || models.length === 0) {
    throw new ConfigurationError('models', 'expected a list of models', 'Write fallback([first, second]).');
  }
  models.forEach((model: unknown, index) => {
    if (typeof model !== 'object' || model === null || !('generate' in model) || typeof model.generate !== 'function') {
      throw new ConfigurationError(`models[${index}]`, 'is no model', 'Pass an object with generate().');
    }
  });
  const candidates = Object.freeze(models.flatMap((model) => model.candidates ?? [model]));
  const first = candidates[0] as Model;
  const limits = {
    ...smallest('contextTokens', candidates),
    ...smallest('maxOutputTokens', candidates),
  };
  return Object.freeze({
    provider: first.provider,
    id: first.id,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    candidates,
    generate: (request, context) => firstThatAnswers(candidates, request, context),
  } satisfies Model);
}

function smallest(name: 'contextTokens' | 'maxOutputTokens', models: readonly Model[]): NonNullable<Model['limits']> {
  const sizes = models.flatMap((model) => model.limits?.[name] ?? []);
  return sizes.length === 0 ? {} : { [name]: Math.min(...sizes) };
}

async function firstThatAnswers(
  models: readonly Model[],
  request: ModelRequest,
  context: ModelContext,
): Promise<ModelTurn> {
  for (let index = 0; ; index += 1) {
    const model = models[index] as Model;
    const isLast = index === models.length - 1;
    const deltas: ModelDelta[] = [];
    try {
      const turn = await model.generate(request, isLast ? context : buffering(context, deltas));
      for (const delta of deltas) context.onDelta?.(delta);
      return index === 0 || turn.by !== undefined ? turn : { ...turn, by: { provider: model.provider, id: model.id } };
    } catch (thrown) {
      if (isLast || context.signal.aborted || modelErrorFacts(modelFailure(thrown).kind)?.fallsBack !== true)
        throw thrown;
    }
  }
}

/** Buffers deltas until the model has answered, so that a failed model's text does not precede another's answer. */
function buffering(context: ModelContext, deltas: ModelDelta[]): ModelContext {
  const { signal, onDelta, idempotencyKey, agent } = context;
  return {
    signal,
    ...(onDelta === undefined ? {} : { onDelta: (delta: ModelDelta) => deltas.push(delta) }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(agent === undefined ? {} : { agent }),
  };
}
