import { checkOptions, checkPositive, checkWhole } from './options.ts';

const AGENT_LIMITS = ['steps', 'toolCalls', 'tokens', 'costUsd', 'timeMs', 'agents', 'maxRepeatedCalls'];
const RUN_LIMITS = ['steps', 'toolCalls', 'tokens', 'costUsd', 'timeMs', 'agents', 'depth', 'concurrency'];

/** Checks the `limits` of a definition, a delegate or a run. Infinity is refused everywhere. */
export function checkLimits(field: string, limits: unknown, of: 'agent' | 'run'): void {
  if (limits === undefined) return;
  checkOptions(field, limits, of === 'agent' ? AGENT_LIMITS : RUN_LIMITS);
  const given = limits as Record<string, unknown>;
  for (const name of ['steps', 'tokens', 'agents', 'depth', 'concurrency'])
    checkWhole(`${field}.${name}`, given[name], 1);
  checkWhole(`${field}.toolCalls`, given.toolCalls, 0);
  checkWhole(`${field}.maxRepeatedCalls`, given.maxRepeatedCalls, 2);
  checkPositive(`${field}.timeMs`, given.timeMs);
  checkPositive(`${field}.costUsd`, given.costUsd);
}
