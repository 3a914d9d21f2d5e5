import { JournalError } from '../core/errors.ts';
import type { Limits } from '../core/limits.ts';
import type { Message } from '../core/message.ts';
import type { StoredRun } from './record-store.ts';

/** What a run began with, as its first record keeps it: a resume starts from the top with the same. */
export interface Beginning {
  readonly brief: readonly Message[];
  /** The input of a procedure. */
  readonly value: unknown;
  readonly shared: { readonly [key: string]: unknown };
  /** The run's. */
  readonly limits: Limits;
  /** The root's own. */
  readonly agentLimits: Limits;
  /** The run that it is a child apart of. */
  readonly parentRun?: string;
}

/** @throws JournalError where the run has no first record. */
export function beginningOf(run: StoredRun): Beginning {
  const first = run.rows.find(({ kind, event }) => kind === 'run' && event === 'started');
  const beginning = (first?.request as { readonly beginning?: unknown } | undefined)?.beginning;
  if (beginning === undefined) {
    throw new JournalError(`run ${run.id}: has no first record, so it never began. Start it anew.`);
  }
  return beginning as Beginning;
}
