export * from './approval.ts';
export * from './decide.ts';
export * from './match-glob.ts';
export * from './result-label.ts';
export * from './rules.ts';
export * from './suggest.ts';
