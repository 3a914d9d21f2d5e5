import type { Agent } from '../core/contract/agent.ts';
import type { RunResult } from '../core/contract/result.ts';
import { DivergenceError } from '../core/values/errors.ts';
import { loggedRun } from '../orchestration/entry/logged-run.ts';
import { type ReplayOptions, replayRun } from '../orchestration/entry/replay-run.ts';

export interface RecordedRun {
  readonly runId: string;
  /** The root's name. */
  readonly agent: string;
  /** `running` where the log ends before the run did. */
  readonly status: string;
  /** The last text of the root's model. */
  readonly text: string;
  /**
   * Replays the run with the current code. Rejects with a DivergenceError that names the address and the part of a request that
   * differs from the recording, or with another result.
   */
  replay<Input, Output, Deps>(agent: Agent<Input, Output, Deps>, options?: ReplayOptions): Promise<RunResult<Output>>;
}

/**
 * A saved step log (`jsonlLog(file, { content: 'full' })`) as a regression test: no model, no network, no side effect.
 *
 * @throws ConfigurationError if the file cannot be read, has no full content, or has several runs and none is named
 * @example
 * test('the answer is still found in the same way', async () => {
 *   await recordedRun('tests/runs/answer.jsonl').replay(lead);
 * });
 */
export function recordedRun(log: string, options: { readonly runId?: string | undefined } = {}): RecordedRun {
  const { id, agent, status, text } = loggedRun(log, options.runId);
  return Object.freeze({
    runId: id,
    agent,
    status,
    text,
    async replay(definition, replayOptions = {}) {
      const result = await replayRun(definition, { log, runId: id }, replayOptions).result;
      if (replayOptions.until === undefined && status !== 'running' && result.status !== status) {
        const message = `${agent}: recorded as ${status}, and the code of now comes to ${result.status}.`;
        const both = { part: 'status', recorded: status, now: result.status };
        throw new DivergenceError(agent, ['status'], message, [both]);
      }
      return result;
    },
  } satisfies RecordedRun);
}
