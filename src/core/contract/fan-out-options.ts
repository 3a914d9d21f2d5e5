import type { Status } from '../values/status.ts';

/**
 * What becomes of the workers that have not ended when one of them ends. Set in code, never by a model.
 *
 * `collect`: each runs to its own end. `failFast`: the first that did not complete stops the others. `race`: the first that
 * completes stops the others. `{ quorum: k }`: the others are stopped once k have completed, or once k can no longer be reached.
 */
export type FanOutPolicy = 'collect' | 'failFast' | 'race' | { readonly quorum: number };

/** How many work at once, and what becomes of the others when one of them ends. */
export interface FanOutOptions {
  /** Default `collect`. */
  readonly policy?: FanOutPolicy | undefined;
  /** Default 4; within a supervisor's tool that supervisor's. */
  readonly concurrency?: number | undefined;
}

/** What became of one brief of a fan-out. */
export type FanOutResult<Output = unknown> = {
  /** What the worker said last. */
  readonly text: string;
  /** The address of its invocation. */
  readonly path: string;
} & (
  | { readonly status: 'completed'; readonly output: Output }
  | {
      /** `model_error` with the kind `denied` or `invalid_args` where it never began. */
      readonly status: Exclude<Status, 'completed'>;
      readonly error: { readonly kind: string; readonly message: string; readonly retryable: boolean };
    }
);
