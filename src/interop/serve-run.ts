import type { Agent } from '../core/contract/agent.ts';
import { UNTRUSTED } from '../core/values/label.ts';
import { startRunWith } from '../orchestration/entry/start-run.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';
import { continueTrace } from '../telemetry/otel/carrier.ts';

/** What a server passes to a run on behalf of its caller. */
export interface RunCaller {
  /** The caller's signal: its abort ends the run `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Headers or `_meta` with the caller's `traceparent`: the run's span is a child of that span. */
  readonly carrier?: { readonly [name: string]: unknown } | undefined;
  readonly runId?: string | undefined;
}

/**
 * Starts a run for an external caller. The input is untrusted; deps, permissions and limits come from `options`, never from the
 * caller. Throws a ConfigurationError if the input does not fit the agent.
 */
export function serveRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  input: unknown,
  options: RunOptions,
  { signal, carrier = {}, runId }: RunCaller = {},
): Run<Output> {
  const signals = [options.signal, signal].filter((one) => one !== undefined);
  const given = {
    ...options,
    ...(signals.length > 0 && { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) }),
    ...(runId !== undefined && { runId }),
  };
  return continueTrace(carrier, () => startRunWith(agent, input, UNTRUSTED, given));
}

/** Work of served runs that continues after their results. A server that closes waits for it before the journal is closed. */
export class PendingWork {
  readonly #open = new Set<Promise<void>>();

  follow(run: Run): void {
    const { settled } = run;
    this.#open.add(settled);
    void settled.then(() => this.#open.delete(settled));
  }

  /** Resolves when all work is done. */
  async done(): Promise<void> {
    await Promise.all(this.#open);
  }
}
