import type { AgentLimits, Limits } from './limits.ts';
import { checkOptions, checkPositive, checkWhole } from './options.ts';

type Check = (field: string, value: unknown) => void;

const whole =
  (least: number): Check =>
  (field, value) =>
    checkWhole(field, value, least);

const OF_BOTH = {
  steps: whole(1),
  toolCalls: whole(0),
  tokens: whole(1),
  costUsd: checkPositive,
  timeMs: checkPositive,
  agents: whole(1),
} satisfies Record<keyof Limits & keyof AgentLimits, Check>;

const CHECKS = {
  agent: { ...OF_BOTH, maxRepeatedCalls: whole(2) } satisfies Record<keyof AgentLimits, Check>,
  run: { ...OF_BOTH, depth: whole(1), concurrency: whole(1) } satisfies Record<keyof Limits, Check>,
};

/** Checks the `limits` of a definition, a delegate or a run. Infinity is refused everywhere. */
export function checkLimits(field: string, limits: unknown, of: 'agent' | 'run'): void {
  if (limits === undefined) return;
  const checks = Object.entries(CHECKS[of]);
  checkOptions(
    field,
    limits,
    checks.map(([name]) => name),
  );
  for (const [name, check] of checks) check(`${field}.${name}`, (limits as Record<string, unknown>)[name]);
}
