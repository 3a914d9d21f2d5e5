export * from './agents/index.ts';
export * from './core/index.ts';
export * from './models/index.ts';
export * from './orchestration/index.ts';
