import type { ErrorRecord } from '../values/errors.ts';
import type { Status } from '../values/status.ts';
import type { Entry, View } from './record.ts';

/** A span of another process, in the same trace. `since`: when it began, in nanoseconds since 1970, as text. */
export type SpanAbove = { readonly traceId: string; readonly spanId: string; readonly since: string };

/** A span in another trace: of the run's epoch before, of the run it was forked from, shows again, or was put in line by. */
export type SpanLink = {
  readonly type: 'resume' | 'fork' | 'replay' | 'queued';
  readonly traceId: string;
  readonly spanId: string;
};

/** A span that an instrument opened. `run` makes it the active one while `fn` runs. */
export interface SpanHandle {
  /** 32 hex digits; all zeros where the instrument records nothing. */
  readonly traceId: string;
  /** 16 hex digits; all zeros where the instrument records nothing. */
  readonly spanId: string;
  /** The caller's span around a run, where it has one. */
  readonly caller?: Caller | undefined;
  run<T>(fn: () => T): T;
}

/** A span around a run, in the same trace. A type and no interface, so that it counts as JSON. */
export type Caller = {
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: string;
};

/** What an instrument is given when a run, an agent, a procedure or the first attempt of a call starts. */
export type SpanStart = Extract<
  Entry,
  { event: 'started'; kind: 'run' | 'agent' | 'model' | 'tool' | 'memory' | 'embedding' }
> & {
  readonly run: string;
  readonly time: bigint;
};

/** At most one a run: OpenTelemetry. Called synchronously at each start; as a view it ends its spans with the records' times. */
export interface Instrument extends View {
  start(start: SpanStart, parent: SpanHandle | undefined): SpanHandle | undefined;
  /** Asked once a run: false where it wants nothing of it, so that nothing is made for it. Default true. */
  wants?(): boolean;
  /** When the caller's span began, in nanoseconds since 1970: a run starts no earlier. */
  notBefore?(): bigint | undefined;
  /** The run's result rejects: what is still open ends now. */
  abandon?(run: string, error: ErrorRecord, time: bigint): void;
  /** A replay is over. Of one only the run starts: its records are shown to views, since nothing of them happened now. */
  replayed?(run: string, status: Status, time: bigint): void;
}
