/** How an invocation or a run ended. Data, never an exception. */
export type Status =
  | 'completed'
  | 'step_limit'
  | 'tool_limit'
  | 'token_limit'
  | 'cost_limit'
  | 'timeout'
  | 'context_limit'
  | 'loop_detected'
  | 'invalid_output'
  | 'model_error'
  | 'aborted'
  | 'cancelled'
  | 'suspended';

/** A status that comes from outside the loop: the caller's signal, a cancel, a deadline, a park. */
export type StopStatus = 'aborted' | 'cancelled' | 'timeout' | 'suspended';

export interface Stop {
  readonly status: StopStatus;
  readonly reason: string;
}
