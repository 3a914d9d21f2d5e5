import type { RunDetached } from '../core/contract/detached.ts';
import type { Decision } from '../core/contract/permission.ts';
import type { Json } from '../core/values/json.ts';
import type { UserMessage } from '../core/values/message.ts';
import type { Row } from './row.ts';

/** A signal with when it was made, in milliseconds since 1970. */
export type TimedSignal = Signal & { readonly time: number };

/** A signal of another process to a run: an answer to a request, a stop at and below a path, or a message for a node. */
export type Signal =
  | { readonly kind: 'decision'; readonly id: string; readonly decision: Decision }
  | { readonly kind: 'cancel'; readonly id: string; readonly path: string; readonly reason: string }
  | { readonly kind: 'steer'; readonly id: string; readonly path: string; readonly message: UserMessage };

/** A run as its store knows it, without its records. */
export interface RunSummary {
  readonly id: string;
  readonly agent: string;
  /** `running` also where its process died. */
  readonly status: string;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly updated: number;
  readonly records: number;
  readonly forkedFrom?: string | undefined;
  /** The process that owns it, while it is live. */
  readonly owner?: { readonly host: string; readonly pid: number } | undefined;
  /** Requests that wait for a person, while it is suspended. */
  readonly pending: readonly Json[];
}

/** A whole run, read without becoming its owner. */
export interface StoredRun extends RunSummary {
  readonly rows: readonly Row[];
  /** What it ended with, where it is over. */
  readonly result?: Json | undefined;
  /** Ids of requests that were answered, also where the run has not read the answer yet. */
  readonly answered?: readonly string[] | undefined;
}

/** A row on its way to a log: `request` and `value` are anything JSON can hold, taken as they are when they are appended. */
export interface FreshRow extends Omit<Row, 'request' | 'value'> {
  readonly request?: unknown;
  readonly value?: unknown;
}

/** The records of one run, open for its owner. */
export interface RunLog {
  readonly run: StoredRun;
  readonly epoch: number;
  /** Keeps a row in order; it is committed once per turn of the event loop, or at 256. */
  append(row: FreshRow): void;
  /** Resolves when all that was appended is on disk. Rejects with a JournalError or FencedError; then nothing more is written. */
  commit(): Promise<void>;
  /** Called after each commit. */
  onCommit: (() => void) | undefined;
  /** Called once, when a commit failed. */
  onFailure: ((error: Error) => void) | undefined;
  /** Signals that came since the last look. */
  signals(): readonly TimedSignal[];
  /** Looks for signals of other processes, until what it gives is called: an effect, a wait or a sleep is under way. Called often. */
  watch(): () => void;
  /** Called when another process has written to the store. */
  onSignal: (() => void) | undefined;
  /** Gives the run up: ended, or parked with what is pending. `result` and `pending` are anything JSON can hold. */
  close(status: string, result: unknown, pending: readonly unknown[]): Promise<void>;
  /** Stops being its owner: the run failed. What was appended is still kept, where that can be. */
  abandon(): void;
}

export interface OpenOptions {
  /** Takes over from an owner that is still alive. Default false. */
  readonly takeover?: boolean | undefined;
  /** The epoch that was read: where the run has had another owner since, a FencedError. */
  readonly epoch?: number | undefined;
}

/** Stores the records of runs. Implemented in memory and over a database; see `sqlite`. */
export interface RecordStore {
  /** Creates a run and becomes its owner. `rows` are those that a fork begins with. Rejects with a ConfigurationError where the id is taken. */
  create(run: {
    readonly id: string;
    readonly agent: string;
    readonly forkedFrom?: string | undefined;
    readonly rows?: readonly Row[];
  }): Promise<RunLog>;
  /** Becomes the owner, with a higher epoch. Rejects with a FencedError where a live process owns the run and `takeover` is not set. */
  open(id: string, options?: OpenOptions): Promise<RunLog>;
  /** A run with its records; undefined where there is none. Rejects with a JournalError where they were changed. */
  read(id: string): Promise<StoredRun | undefined>;
  /** All runs, oldest first. */
  list(): Promise<readonly RunSummary[]>;
  /** False where the run has had a signal of this id, or the request an answer: the first wins. */
  signal(run: string, signal: Signal): Promise<boolean>;
  /** Removes runs that ended before a time (milliseconds since 1970); gives their ids. */
  prune(before: number): Promise<readonly string[]>;
  /** Runs a detached child in the processes that this store's runs belong to; without it, in the process of its parent. */
  readonly runDetached?: RunDetached | undefined;
  /** Releases the store's resources. Close it when no run is under way: await `run.settled`. */
  close(): void;
}
