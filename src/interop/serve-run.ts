import type { Agent } from '../core/contract/agent.ts';
import { UNTRUSTED } from '../core/values/label.ts';
import { startRunWith } from '../orchestration/entry/start-run.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';
import { continueTrace } from '../telemetry/otel/carrier.ts';

/** What a border gives a run on behalf of its caller. */
export interface Caller {
  /** The caller's: the run then ends `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Headers or `_meta` with the caller's `traceparent`: the run's span lies below the span there. */
  readonly carrier?: { readonly [name: string]: unknown } | undefined;
  readonly runId?: string | undefined;
}

/**
 * Starts a run for someone on the other side of a border. What comes in is untrusted; deps, permissions and limits are those of
 * `options`, never the caller's. Throws a ConfigurationError where the input does not fit the agent.
 */
export function serveRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: unknown,
  options: RunOptions,
  { signal, carrier = {}, runId }: Caller = {},
): Run<Output> {
  const signals = [options.signal, signal].filter((one) => one !== undefined);
  const given = {
    ...options,
    ...(signals.length > 0 && { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) }),
    ...(runId !== undefined && { runId }),
  };
  return continueTrace(carrier, () => startRunWith(agent, input, UNTRUSTED, given));
}
