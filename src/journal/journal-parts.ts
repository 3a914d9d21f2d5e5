import type { Instrument } from '../core/contract/instrument.ts';
import type { Decision } from '../core/contract/permission.ts';
import type { RunRecord } from '../core/contract/record.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Call, Layer, Outcome } from '../core/runtime/journal.ts';
import type { Stops } from '../core/runtime/stops.ts';
import type { DivergenceError } from '../core/values/errors.ts';
import type { Change } from './divergence.ts';
import type { History } from './history.ts';
import type { RunLog } from './record-store.ts';
import type { Waits } from './waits.ts';

/** What of its run a journal works with. */
export interface JournalParts {
  readonly id: string;
  readonly epoch: number;
  readonly stops: Stops;
  readonly waits: Waits;
  readonly instrument: Instrument | undefined;
  /** Once per call, retries included: the ledger. */
  readonly perCall: readonly Layer[];
  /** Once per attempt: the limiter. */
  readonly perAttempt: readonly Layer[];
  /** Told each record in order, once it is committed; set while somebody looks. */
  readonly sink: { record: ((record: RunRecord) => void) | undefined };
  /** Where records are kept beyond the process. */
  readonly log: RunLog | undefined;
  /** What was recorded before this epoch. */
  readonly history: History | undefined;
  /** True where nothing new may happen: what is not recorded ends the run. */
  readonly isReplay: boolean;
  recordsEnd(key: string): void;
  /** Told when an invocation becomes busy or idle. */
  activity(self: Invocation, busy: 1 | -1): void;
  /** True once the run was stopped in a way that a resume takes up again. */
  readonly isInterrupted: boolean;
  /** Told what changed since the record was made: reports it, or throws. */
  diverged(self: Invocation, key: string, changes: readonly Change[]): void;
  /** The error of a call that is another than the recorded one. */
  divergence(key: string, changes: readonly Change[]): DivergenceError;
  /** Asks a person what became of a call that was started and has no outcome. */
  askDoubt(call: Call<never>, attempt: number): Promise<Outcome<Decision>>;
}

/** The run must not park while it works, and must be able to afterwards, however that ends. */
export async function whileBusy<T>(
  parts: Pick<JournalParts, 'activity'>,
  self: Invocation,
  work: () => T | Promise<T>,
): Promise<T> {
  parts.activity(self, 1);
  try {
    return await work();
  } finally {
    parts.activity(self, -1);
  }
}
