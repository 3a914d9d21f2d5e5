import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Failure } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { parseOutput } from '../schema/parse-output.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { textOf, toolCallsOf } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { type Status, statusOfFailure } from '../values/status.ts';
import type { ToolValue } from '../values/tool-value.ts';
import { answer } from './answer.ts';
import { enter } from './arrivals.ts';
import { ask, isEmpty } from './ask.ts';
import { countTurn } from './count-turn.ts';
import { append, assistant, note, type Transcript } from './transcript.ts';

/** The final turn: its text, or the output that it holds, with one repair. */
export async function finish(run: RunContext, transcript: Transcript, turn: ModelTurn): Promise<AgentOutcome> {
  const { self, agent } = transcript;
  const text = transcript.truncatedText + textOf(turn.content);
  if (agent.output === undefined) return end(transcript, 'completed', undefined, text, text);
  const first = parseOutput(text, agent.output);
  if (first.ok) return end(transcript, 'completed', undefined, text, first.value);
  if (agent.quarantined)
    return end(
      transcript,
      'invalid_output',
      { kind: 'invalid_output', message: first.message, retryable: false },
      text,
    );
  append(
    transcript,
    note(`Your answer does not have the required form:\n${first.message}\nAnswer again with the corrected JSON alone.`),
  );
  const repair = await answer(run, transcript, `${self.path}/${self.step}/@repair`);
  if (!repair.ok) return failed(transcript, repair);
  const calls = toolCallsOf(repair.value.content).length > 0;
  if (!calls && !isEmpty(repair.value)) append(transcript, assistant(transcript, repair.value));
  const repaired = transcript.truncatedText + textOf(repair.value.content);
  const second = calls
    ? ({ ok: false, message: 'a tool call instead of the output' } as const)
    : parseOutput(repaired, agent.output);
  if (second.ok) return end(transcript, 'completed', undefined, repaired, second.value);
  return end(
    transcript,
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
  return parsed.ok ? end(transcript, 'completed', undefined, text, parsed.value) : undefined;
}

/** One extra call, outside `steps`, in which the agent says what it has. If it fails or calls a tool, the status stays. */
export async function wrapUp(
  run: RunContext,
  transcript: Transcript,
  status: Status,
  cause: ErrorRecord,
): Promise<AgentOutcome> {
  // What they have until then is seen by the turn.
  await transcript.self.workers?.close(endedWith(status));
  if (!transcript.agent.wrapUp) return end(transcript, status, cause);
  const key = `${transcript.self.path}/${transcript.self.step}/@wrapup`;
  await enter(run, transcript, key);
  const kept = transcript.messages.length;
  append(
    transcript,
    note(`${cause.message} No more tools can be called. Say now what you have found, and what is missing.`),
  );
  transcript.truncatedText = '';
  const last = countTurn(run, transcript, key, await ask(run, transcript, key, 'none'));
  if (!last.ok || isEmpty(last.value) || toolCallsOf(last.value.content).length > 0) {
    transcript.messages.length = kept;
    return end(transcript, status, cause);
  }
  append(transcript, assistant(transcript, last.value));
  return end(transcript, status, cause);
}

/** Why its background workers are stopped. */
export function endedWith(status: Status): string {
  return `Its supervisor ended with ${status}.`;
}

/** The end of an invocation whose model call gave no turn. */
export function failed(transcript: Transcript, { error, stop }: Failure): AgentOutcome {
  if (stop !== undefined) return end(transcript, stop.status, error);
  return end(transcript, statusOfFailure(error.kind), error);
}

/** Closes the transcript. */
export function end(
  transcript: Transcript,
  status: Status,
  error: ErrorRecord | undefined,
  text = transcript.lastText,
  output?: unknown,
): AgentOutcome {
  const { self, messages } = transcript;
  Object.freeze(messages);
  self.truncatedResults = undefined;
  if (self.parent === undefined) transcript.selector.close(messages, self.label);
  const facts = { self, status, text, messages, label: self.label };
  return error === undefined ? { ...facts, output } : { ...facts, error };
}
