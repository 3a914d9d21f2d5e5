import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Failure } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { mustContinue } from '../turn/arrivals.ts';
import { isEmpty } from '../turn/ask.ts';
import { afterWorkers, failed, finish } from '../turn/finish.ts';
import { endStep } from '../turn/step.ts';
import type { Transcript } from '../turn/transcript.ts';
import type { ModelTurn } from '../values/model.ts';

/** A turn that calls no tool is the last one, unless the provider paused it or the invocation has something to read first. */
export async function finishTurn(
  run: RunContext,
  transcript: Transcript,
  turn: ModelTurn,
): Promise<AgentOutcome | undefined> {
  if (!isEmpty(turn)) transcript.appendTurn(turn);
  const isOpen =
    !transcript.agent.quarantined && (turn.stop === 'paused' || (await mustContinue(run, transcript.self)));
  const outcome = isOpen ? undefined : await finish(run, transcript, turn);
  endStep(run, transcript);
  return outcome;
}

/** A step whose model call gave no turn is the last one. */
export async function failTurn(run: RunContext, transcript: Transcript, failure: Failure): Promise<AgentOutcome> {
  endStep(run, transcript);
  return afterWorkers(failed(transcript, failure));
}
