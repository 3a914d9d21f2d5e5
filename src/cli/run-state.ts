import { hostname } from 'node:os';
import type { RunSummary } from '../journal/record-store.ts';
import { SILENT_MS } from '../journal/sqlite/owner.ts';

/** The facts about this machine that are used here. */
export interface Machine {
  readonly host: string;
  isRunning(pid: number): boolean;
}

/**
 * The state of a run: its status, but `died` if it is neither over nor suspended and its process has ended or has written nothing
 * for 15 s. `now` in milliseconds since 1970.
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
      // EPERM: the process exists and belongs to another user.
      return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
    }
  },
};
