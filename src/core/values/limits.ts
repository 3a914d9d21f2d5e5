import { checkOptions, checkPositive, checkWhole } from './options.ts';
/** Bounds of a run: they hold for its whole tree. Infinity is refused. */
export interface Limits {
  /** Model steps; default: no bound but the agents' own. */
  readonly steps?: number | undefined;
  /** Calls that models ask for; default: no bound but the agents' own. */
  readonly toolCalls?: number | undefined;
  /** Input and output together; default: no bound. */
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
  /** Working time in milliseconds: time in which every branch waits for a person does not count. Default 600,000. */
  readonly timeMs?: number | undefined;
  /** Invocations, the root included; default 64. */
  readonly agents?: number | undefined;
  /** The root has depth 1; default 4. */
  readonly depth?: number | undefined;
  /** Model and tool calls at once; default 8. More wait in a queue. */
  readonly concurrency?: number | undefined;
}

/** Bounds of each invocation of an agent: its own turns and requested calls, and its subtree for tokens, cost, time and agents. */
export interface AgentLimits {
  /** Default 10. */
  readonly steps?: number | undefined;
  /** Default 50. A turn whose calls would pass it runs none of them. */
  readonly toolCalls?: number | undefined;
  /** Input and output together; default: no bound. */
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
  /** Milliseconds of working time; default: no bound but the run's. */
  readonly timeMs?: number | undefined;
  /** Invocations, its own included; default: no bound but the run's. */
  readonly agents?: number | undefined;
  /** Equal calls with equal results in turns one after another, the refused one included; default 3, at least 2. */
  readonly maxRepeatedCalls?: number | undefined;
}

/** Defaults of the limits of an invocation; the others have none. */
const INVOCATION_DEFAULTS = { steps: 10, toolCalls: 50, maxRepeatedCalls: 3 } satisfies AgentLimits;

/** The default of an invocation's limit; undefined where it has none. */
export function invocationDefault(name: keyof Limits): number | undefined {
  return (INVOCATION_DEFAULTS as AgentLimits & Limits)[name];
}

/** Every default of the contract, in one place. Times in milliseconds, sizes in characters or tokens. */
export const DEFAULTS = Object.freeze({
  ...INVOCATION_DEFAULTS,
  timeMs: 600_000,
  depth: 4,
  agents: 64,
  concurrency: 8,
  supervisorConcurrency: 4,
  failuresInARow: 5,
  contextTokens: 100_000,
  maxOutputTokens: 16_384,
  toolTimeoutMs: 60_000,
  graceMs: 5_000,
  maxResultChars: 8_000,
  modelTimeoutMs: 600_000,
  modelIdleTimeoutMs: 60_000,
  retry: Object.freeze({ retries: 3, baseMs: 1_000, capMs: 10_000, maxRetryAfterMs: 60_000 }),
  memoryTopK: 5,
});

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
