import type { Ending } from '../contract/ending.ts';
import type { Failure } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { settle } from '../runtime/settle.ts';
import { parseOutput } from '../schema/parse-output.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { textOf, toolCallsOf } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import type { Status } from '../values/status.ts';
import type { ToolValue } from '../values/tool-value.ts';
import { answer } from './answer.ts';
import { enter } from './arrivals.ts';
import { ask, isEmpty } from './ask.ts';
import { append, assistant, note, type Talk } from './talk.ts';

/** The final turn: its text, or the output that it holds, with one repair. */
export async function conclude(run: RunContext, talk: Talk, turn: ModelTurn): Promise<Ending> {
  const { self, agent } = talk;
  const text = talk.cutText + textOf(turn.content);
  if (agent.output === undefined) return end(talk, 'completed', undefined, text, text);
  const first = parseOutput(text, agent.output);
  if (first.ok) return end(talk, 'completed', undefined, text, first.value);
  if (agent.quarantined)
    return end(talk, 'invalid_output', { kind: 'invalid_output', message: first.message, retryable: false }, text);
  append(
    talk,
    note(`Your answer does not have the required form:\n${first.message}\nAnswer again with the corrected JSON alone.`),
  );
  const repair = await answer(run, talk, `${self.path}/${self.step}/@repair`);
  if (!repair.ok) return failed(talk, repair);
  const calls = toolCallsOf(repair.value.content).length > 0;
  if (!calls && !isEmpty(repair.value)) append(talk, assistant(talk, repair.value));
  const repaired = talk.cutText + textOf(repair.value.content);
  const second = calls
    ? ({ ok: false, message: 'a tool call instead of the output' } as const)
    : parseOutput(repaired, agent.output);
  if (second.ok) return end(talk, 'completed', undefined, repaired, second.value);
  return end(
    talk,
    'invalid_output',
    { kind: 'invalid_output', message: second.message, retryable: false },
    repaired || text,
  );
}

/** A worker's answer as this agent's; undefined where it does not have the form that is asked for. */
export function passOn(talk: Talk, { content }: ToolValue): Ending | undefined {
  const text = textOf(content);
  const { output } = talk.agent;
  const parsed = output === undefined ? { ok: true as const, value: text } : parseOutput(text, output);
  return parsed.ok ? end(talk, 'completed', undefined, text, parsed.value) : undefined;
}

/** One extra call, outside `steps`, in which the agent says what it has. If it fails or calls a tool, the status stays. */
export async function wrapUp(run: RunContext, talk: Talk, status: Status, cause: ErrorRecord): Promise<Ending> {
  // What they have until then is seen by the turn.
  await talk.self.workers?.close(endedWith(status));
  if (!talk.agent.wrapUp) return end(talk, status, cause);
  const key = `${talk.self.path}/${talk.self.step}/@wrapup`;
  await enter(run, talk, key);
  const kept = talk.messages.length;
  append(talk, note(`${cause.message} No more tools can be called. Say now what you have found, and what is missing.`));
  talk.cutText = '';
  const last = settle(run, talk, key, await ask(run, talk, key, 'none'));
  if (!last.ok || isEmpty(last.value) || toolCallsOf(last.value.content).length > 0) {
    talk.messages.length = kept;
    return end(talk, status, cause);
  }
  append(talk, assistant(talk, last.value));
  return end(talk, status, cause);
}

/** Why its background workers are stopped. */
export function endedWith(status: Status): string {
  return `Its supervisor ended with ${status}.`;
}

/** The end of an invocation whose model call gave no turn. */
export function failed(talk: Talk, { error, stop }: Failure): Ending {
  if (stop !== undefined) return end(talk, stop.status, error);
  const limits: Partial<Record<string, Status>> = {
    context_limit: 'context_limit',
    token_limit: 'token_limit',
    cost_limit: 'cost_limit',
  };
  return end(talk, limits[error.kind] ?? 'model_error', error);
}

/** Closes the transcript. */
export function end(
  talk: Talk,
  status: Status,
  error: ErrorRecord | undefined,
  text = talk.lastText,
  output?: unknown,
): Ending {
  const { self, messages } = talk;
  Object.freeze(messages);
  self.received = undefined;
  if (self.parent === undefined) talk.selector.close(messages, self.label);
  const facts = { self, status, text, messages, label: self.label };
  return error === undefined ? { ...facts, output } : { ...facts, error };
}
