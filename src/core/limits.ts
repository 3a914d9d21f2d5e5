/** Bounds of a run: they hold for its whole tree. */
export interface Limits {
  readonly steps?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly agents?: number | undefined;
  readonly depth?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** Bounds of each invocation of an agent: its own turns and requested calls, and its subtree for tokens, cost, time and agents. */
export interface AgentLimits {
  readonly steps?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly agents?: number | undefined;
  readonly maxRepeatedCalls?: number | undefined;
}

/** Every default of the contract, in one place. Times in milliseconds, sizes in characters or tokens. */
export const DEFAULTS = Object.freeze({
  steps: 10,
  toolCalls: 50,
  timeMs: 600_000,
  depth: 4,
  agents: 64,
  concurrency: 8,
  supervisorConcurrency: 4,
  maxRepeatedCalls: 3,
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
