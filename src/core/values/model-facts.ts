import { DEFAULTS } from './limits.ts';
import type { Model } from './model.ts';

/** A fallback's models, or the model itself. */
export function candidatesOf(model: Model): readonly Model[] {
  return model.candidates ?? [model];
}

/** Provider and endpoint: whoever shares them is held back together. */
export function gateOf({ provider, server }: Pick<Model, 'provider' | 'server'>): string {
  if (server === undefined) return provider;
  return `${provider}@${server.address}${server.port === undefined ? '' : `:${server.port}`}`;
}

export function modelName(model: Model): string {
  return `${model.provider}/${model.id}`;
}

/** min(the model's, 16,384) tokens. */
export function outputLimit(model: Model): number {
  return Math.min(model.limits?.maxOutputTokens ?? DEFAULTS.maxOutputTokens, DEFAULTS.maxOutputTokens);
}
