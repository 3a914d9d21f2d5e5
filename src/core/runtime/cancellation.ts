import type { Stop } from '../values/status.ts';

/** Stops parts of a run, and tells where a replay has no more records. */
export interface Cancellation {
  /** Stops what is at and below a path, also in later epochs. */
  cancel(path: string, reason: string): void;
  /** In a replay: the stop that comes before an address that is not on record. */
  endsBefore(key: string): Stop | undefined;
}
