import { LiveRun } from '../orchestration/run/run.ts';
import type { Run } from '../orchestration/run/run-handle.ts';

/** Whether a run can go on later, so that a caller who is gone need not end it. */
export function isDurable<Output>(run: Run<Output>): boolean {
  return run instanceof LiveRun && run.isDurable;
}
