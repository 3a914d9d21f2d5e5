export { fallback } from './fallback.ts';
export { type Environment, hasModelEnv, modelFromEnv } from './from-env.ts';
export { withRetry } from './retry.ts';
