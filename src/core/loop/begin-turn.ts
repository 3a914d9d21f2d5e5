import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Arrival } from '../runtime/inbox.ts';
import { endOfReplay } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { limited, stepLimit } from '../runtime/step-limits.ts';
import { stopError } from '../runtime/stops.ts';
import { arrivalsBefore, enter } from '../turn/arrivals.ts';
import { afterWorkers, wrapUp } from '../turn/finish.ts';
import { beginStep } from '../turn/step.ts';
import type { Transcript } from '../turn/transcript.ts';
import type { UserMessage } from '../values/message.ts';

/** Begins the next step with what arrived for it. Gives the outcome where no step may begin. */
export function beginTurn(run: RunContext, transcript: Transcript): Prevented | Promise<Prevented> {
  const { self } = transcript;
  const limit = stepLimit(run, self);
  if (limit !== undefined) return wrapUp(run, transcript, 'step_limit', limited(run, self, limit));
  const arrivals = arrivalsBefore(run, self, `${self.path}/${self.step + 1}/model`);
  return arrivals.length === 0 ? begin(run, transcript, []) : enterAndBegin(run, transcript, arrivals);
}

type Prevented = AgentOutcome | undefined;

async function enterAndBegin(
  run: RunContext,
  transcript: Transcript,
  arrivals: readonly Arrival[],
): Promise<Prevented> {
  return begin(run, transcript, await enter(transcript, arrivals));
}

function begin(
  run: RunContext,
  transcript: Transcript,
  arrived: readonly UserMessage[],
): Prevented | Promise<Prevented> {
  const stop = endOfReplay(run, transcript.self);
  if (stop !== undefined) return afterWorkers(transcript.close(stop.status, stopError(stop)));
  beginStep(run, transcript, arrived);
  return undefined;
}
