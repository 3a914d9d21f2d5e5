import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Failure } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { parseOutput } from '../schema/parse-output.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { textOf, toolCallsOf } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { type Status, statusOfFailure } from '../values/status.ts';
import type { ToolValue } from '../values/tool-value.ts';
import { answer } from './answer.ts';
import { arrivalsBefore, enter, mustContinue } from './arrivals.ts';
import { ask, isEmpty } from './ask.ts';
import { endStep } from './step.ts';
import type { Transcript } from './transcript.ts';

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

/** The final turn: its text, or the output that it holds, with one repair. */
async function finish(run: RunContext, transcript: Transcript, turn: ModelTurn): Promise<AgentOutcome> {
  const { self, agent } = transcript;
  const text = transcript.truncatedText + textOf(turn.content);
  if (agent.output === undefined) return transcript.close('completed', undefined, text, text);
  const first = parseOutput(text, agent.output);
  if (first.ok) return transcript.close('completed', undefined, text, first.value);
  if (agent.quarantined)
    return transcript.close(
      'invalid_output',
      { kind: 'invalid_output', message: first.message, retryable: false },
      text,
    );
  transcript.appendNote(
    `Your answer does not have the required form:\n${first.message}\nAnswer again with the corrected JSON alone.`,
  );
  const repair = await answer(run, transcript, `${self.path}/${self.step}/@repair`);
  if (!repair.ok) return failed(transcript, repair);
  const calls = toolCallsOf(repair.value.content).length > 0;
  if (!calls && !isEmpty(repair.value)) transcript.appendTurn(repair.value);
  const repaired = transcript.truncatedText + textOf(repair.value.content);
  const second = calls
    ? ({ ok: false, message: 'a tool call instead of the output' } as const)
    : parseOutput(repaired, agent.output);
  if (second.ok) return transcript.close('completed', undefined, repaired, second.value);
  return transcript.close(
    'invalid_output',
    { kind: 'invalid_output', message: second.message, retryable: false },
    repaired || text,
  );
}

/** A worker's answer as this agent's; undefined where it does not have the form that is asked for. */
export function passOn(transcript: Transcript, { content }: ToolValue): AgentOutcome | undefined {
  const text = textOf(content);
  const { output } = transcript.agent;
  const parsed = output === undefined ? { ok: true as const, value: text } : parseOutput(text, output);
  return parsed.ok ? transcript.close('completed', undefined, text, parsed.value) : undefined;
}

/** One extra call, outside `steps`, in which the agent says what it has. If it fails or calls a tool, its answer is dropped. */
export async function wrapUp(
  run: RunContext,
  transcript: Transcript,
  status: Status,
  cause: ErrorRecord,
): Promise<AgentOutcome> {
  // The turn sees the results that they have until then.
  await stopWorkers(transcript.self, status);
  if (!transcript.agent.wrapUp) return transcript.close(status, cause);
  const key = `${transcript.self.path}/${transcript.self.step}/@wrapup`;
  await enter(transcript, arrivalsBefore(run, transcript.self, key));
  const { length } = transcript.messages;
  transcript.appendNote(
    `${cause.message} No more tools can be called. Say now what you have found, and what is missing.`,
  );
  transcript.truncatedText = '';
  const last = await ask(run, transcript, key, 'none');
  if (last.ok && !isEmpty(last.value) && toolCallsOf(last.value.content).length === 0)
    transcript.appendTurn(last.value);
  else transcript.messages.length = length;
  return transcript.close(status, cause);
}

/** The outcome, once the background workers that still run are stopped and have ended. */
export async function afterWorkers(outcome: AgentOutcome): Promise<AgentOutcome> {
  await stopWorkers(outcome.self, outcome.status);
  return outcome;
}

async function stopWorkers({ workers }: Invocation, status: Status): Promise<void> {
  if (workers !== undefined) await workers.close(`Its supervisor ended with ${status}.`);
}

/** The outcome of an invocation whose model call gave no turn. */
export function failed(transcript: Transcript, { error, stop }: Failure): AgentOutcome {
  if (stop !== undefined) return transcript.close(stop.status, error);
  return transcript.close(statusOfFailure(error.kind), error);
}
