import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import { stopAfterStep } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { admit, limited } from '../runtime/step-limits.ts';
import { stopError } from '../runtime/stops.ts';
import { mustContinue } from '../turn/arrivals.ts';
import { afterWorkers, passOn, wrapUp } from '../turn/finish.ts';
import { handOver } from '../turn/handoff.ts';
import { endStep } from '../turn/step.ts';
import type { Transcript } from '../turn/transcript.ts';
import type { ToolCall } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { appendResults, planCalls, startCalls } from './call-tools.ts';

/** A turn that calls tools: admits them together, runs them, and gives the outcome where they end the invocation. */
export async function callTurn(
  run: RunContext,
  transcript: Transcript,
  turn: ModelTurn,
  calls: readonly ToolCall[],
): Promise<AgentOutcome | undefined> {
  const { self } = transcript;
  const limit = admit(run, self, calls.length);
  if (limit !== undefined) {
    endStep(run, transcript);
    return afterWorkers(transcript.close('tool_limit', limited(run, self, limit)));
  }
  transcript.appendTurn(turn);
  const planned = planCalls(run, transcript, calls);
  const started = startCalls(run, transcript, planned);
  const [only] = started;
  // Most turns call one tool: to wait for one promise costs less than for a list of one.
  const results = only !== undefined && started.length === 1 ? [await only] : await Promise.all(started);
  const { loops, answer } = appendResults(transcript, planned, results);
  endStep(run, transcript);
  if (transcript.handoff !== undefined) return handOver(run, transcript, transcript.handoff);
  const stop = stopAfterStep(run, self);
  if (stop !== undefined) return afterWorkers(transcript.close(stop.status, stopError(stop)));
  if (loops !== undefined) return wrapUp(run, transcript, 'loop_detected', loops);
  return answer === undefined || (await mustContinue(run, self)) ? undefined : passOn(transcript, answer);
}
