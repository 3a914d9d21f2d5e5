import { LiveRun } from '../orchestration/run/run.ts';
import type { Run } from '../orchestration/run/run-handle.ts';

/** Whether a run can be resumed later, so that it need not end when its caller disconnects. */
export function isDurable<Output>(run: Run<Output>): boolean {
  return run instanceof LiveRun && run.isDurable;
}
