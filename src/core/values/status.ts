import type { Limits } from './limits.ts';

/** Every way in which an invocation or a run ends. */
export const STATUSES = [
  'completed',
  'step_limit',
  'tool_limit',
  'token_limit',
  'cost_limit',
  'timeout',
  'context_limit',
  'loop_detected',
  'invalid_output',
  'model_error',
  'aborted',
  'cancelled',
  'suspended',
] as const;

/** How an invocation or a run ended. Data, never an exception. */
export type Status = (typeof STATUSES)[number];

/** A status that comes from outside the loop: the caller's signal, a cancel, a deadline, a park. */
export type StopStatus = Extract<Status, 'aborted' | 'cancelled' | 'timeout' | 'suspended'>;

export interface Stop {
  readonly status: StopStatus;
  readonly reason: string;
}

interface StatusFacts {
  /** False where a resume continues a run that ended so; after a limit it also does once the limit is larger. */
  readonly isFinal: boolean;
  /** True where a node that ended so was interrupted: a resume of its run begins it anew. */
  readonly isInterrupted: boolean;
  /** True where it was stopped from outside and not by its own time: then nothing more is begun for it. */
  readonly isStopped: boolean;
  /** The limit that was reached. */
  readonly limit: (keyof Limits & string) | undefined;
}

const ENDED: StatusFacts = { isFinal: true, isInterrupted: false, isStopped: false, limit: undefined };

const FACTS = {
  completed: ENDED,
  step_limit: { ...ENDED, limit: 'steps' },
  tool_limit: { ...ENDED, limit: 'toolCalls' },
  token_limit: { ...ENDED, limit: 'tokens' },
  cost_limit: { ...ENDED, limit: 'costUsd' },
  timeout: { ...ENDED, isInterrupted: true, limit: 'timeMs' },
  context_limit: ENDED,
  loop_detected: ENDED,
  invalid_output: ENDED,
  model_error: ENDED,
  aborted: { isFinal: false, isInterrupted: true, isStopped: true, limit: undefined },
  cancelled: { ...ENDED, isStopped: true },
  suspended: { isFinal: false, isInterrupted: true, isStopped: true, limit: undefined },
} satisfies Record<Status, StatusFacts>;

/** Undefined of what is no status, such as `running`. */
function factsOf(status: unknown): StatusFacts | undefined {
  return typeof status === 'string' && Object.hasOwn(FACTS, status) ? FACTS[status as Status] : undefined;
}

/** Whether a run of this status has ended for good; false of a run that is `running`, too. */
export function isFinal(status: string): boolean {
  return status !== 'running' && factsOf(status)?.isFinal !== false;
}

/** Whether this status says that a node was interrupted. */
export function isInterruption(status: unknown): boolean {
  return factsOf(status)?.isInterrupted === true;
}

/** Whether a run that ended so was stopped by a person, its caller or a park. */
export function isStopped(status: string): boolean {
  return factsOf(status)?.isStopped === true;
}

/** The limit that ended a run of this status. */
export function limitOf(status: string): (keyof Limits & string) | undefined {
  return factsOf(status)?.limit;
}

/** Kinds of errors by which a call was refused before the provider was reached: each is the status of the invocation too. */
const REFUSED_CALLS = ['context_limit', 'token_limit', 'cost_limit'] as const satisfies readonly Status[];

/** Whether a model call failed before its provider was asked. */
export function isRefused(kind: string | undefined): boolean {
  return REFUSED_CALLS.some((refused) => refused === kind);
}

/** The status of an invocation that ended with the failure of a model call. */
export function statusOfFailure(kind: string): Status {
  return REFUSED_CALLS.find((refused) => refused === kind) ?? 'model_error';
}
