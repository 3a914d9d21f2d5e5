import type { Model } from '../core/values/model.ts';
import { once } from './sdk.ts';

/**
 * A model that is loaded by its first call, so that creating one costs nothing. `fields` are its facts before that; if loading fails,
 * the call rejects and the next one tries again.
 */
export function lazyModel(fields: Omit<Model, 'generate'>, load: () => Promise<Model>): Model {
  let loaded: Model | undefined;
  const loadOnce = once(async () => {
    loaded = await load();
    return loaded;
  });
  return Object.freeze({
    ...fields,
    // Not async: once it is there, a call costs no promise more than the model's own.
    generate(request, context) {
      return loaded?.generate(request, context) ?? loadOnce().then((model) => model.generate(request, context));
    },
  } satisfies Model);
}
