export * from './agents/index.ts';
export * from './core/index.ts';
export { hasModelEnv, modelFromEnv } from './models/from-env.ts';
export { withRetry } from './models/retry.ts';
export * from './orchestration/index.ts';
