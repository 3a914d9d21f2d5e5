import { hostname } from 'node:os';
import type { RunSummary } from '../journal/record-store.ts';
import { SILENT_MS } from '../journal/sqlite/owner.ts';

/** What of this machine is asked. */
export interface Machine {
  readonly host: string;
  isRunning(pid: number): boolean;
}

/**
 * How a run stands: its status, but `died` where it is neither over nor suspended and its process is gone, or has not been heard
 * of for 15 s. `now` in milliseconds since 1970.
 */
export function runState(run: RunSummary, now: number, machine: Machine = THIS): string {
  const { status, owner, updated } = run;
  if (status !== 'running') return status;
  if (owner === undefined || now - updated >= SILENT_MS) return 'died';
  return owner.host === machine.host && !machine.isRunning(owner.pid) ? 'died' : 'running';
}

const THIS: Machine = {
  host: hostname(),
  isRunning(pid) {
    try {
      process.kill(pid, 0);
      return true;
    } catch (thrown) {
      // Another user's process may not be asked, but it is there.
      return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
    }
  },
};
