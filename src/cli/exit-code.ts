import type { Status } from '../core/values/status.ts';

/** The exit codes of `cox`. */
export const EXIT = Object.freeze({ done: 0, failed: 1, usage: 2, parked: 3, limit: 4, interrupted: 130 });

/** The code of a run that ended by itself or by a person's Ctrl-C (`interrupted`). */
export function exitCode(status: Status, interrupted = false): number {
  if (status === 'completed') return EXIT.done;
  if (interrupted) return EXIT.interrupted;
  switch (status) {
    case 'suspended':
      return EXIT.parked;
    case 'step_limit':
    case 'tool_limit':
    case 'token_limit':
    case 'cost_limit':
    case 'timeout':
    case 'context_limit':
      return EXIT.limit;
    case 'loop_detected':
    case 'invalid_output':
    case 'model_error':
    case 'aborted':
    case 'cancelled':
      return EXIT.failed;
  }
}
