import type { Instrument } from '../core/contract/instrument.ts';
import type { Decision } from '../core/contract/permission.ts';
import type { RunRecord } from '../core/contract/record.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Call, Layer, Outcome } from '../core/runtime/journal.ts';
import type { NodeActivity } from '../core/runtime/node-activity.ts';
import type { Stops } from '../core/runtime/stops.ts';
import type { DivergenceError } from '../core/values/errors.ts';
import type { Change } from './divergence.ts';
import type { History } from './history.ts';
import type { RunLog } from './record-store.ts';
import type { Waits } from './waits.ts';

/** What a journal uses of its run. */
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
  /** `record` is called with each record in order, after its commit; set while there is a view or listener. */
  readonly observers: { record: ((record: RunRecord) => void) | undefined };
  /** Where records are kept beyond the process. */
  readonly log: RunLog | undefined;
  /** The records of earlier epochs. */
  readonly history: History | undefined;
  /** True where nothing new may happen: what is not recorded ends the run. */
  readonly isReplay: boolean;
  readonly activity: NodeActivity;
  readonly cancellation: {
    /** Ends a replay at an address that has no record. */
    recordsEnd(key: string): void;
    /** True once the run was stopped in a way that a resume continues. */
    readonly isInterrupted: boolean;
  };
  readonly divergences: {
    /** Reports what changed since the record was made, or throws. */
    report(self: Invocation, key: string, changes: readonly Change[]): void;
    /** The error of a call that is not the recorded one. */
    error(key: string, changes: readonly Change[]): DivergenceError;
  };
  readonly permissions: {
    /** Asks a person whether a call happened that was started and has no outcome. */
    askOutcome(call: Call<never>, attempt: number): Promise<Outcome<Decision>>;
  };
}

/** The run must not park while it works, and must be able to afterwards, however that ends. */
export async function whileBusy<T>(
  parts: Pick<JournalParts, 'activity'>,
  self: Invocation,
  work: () => T | Promise<T>,
): Promise<T> {
  parts.activity.busy(self, 1);
  try {
    return await work();
  } finally {
    parts.activity.busy(self, -1);
  }
}
