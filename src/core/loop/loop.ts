import type { ModelAgent } from '../contract/agent.ts';
import { admit, countStep, limited, stepLimit } from '../runtime/admission.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { InitialMessages } from '../runtime/initial-messages.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { endOfReplay, stopAfterStep } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { stopError } from '../runtime/stops.ts';
import { answer, askAgain } from '../turn/answer.ts';
import { enter, mustContinue } from '../turn/arrivals.ts';
import { isEmpty } from '../turn/ask.ts';
import { inConversation } from '../turn/conversation.ts';
import { end, endedWith, failed, finish, passOn, wrapUp } from '../turn/finish.ts';
import { handOver } from '../turn/handoff.ts';
import { beginStep, endStep } from '../turn/step.ts';
import { append, assistant, openTranscript, type Transcript } from '../turn/transcript.ts';
import { ConfigurationError, isA, isFatal, messageOf, ToolError } from '../values/errors.ts';
import { toolCallsOf } from '../values/message.ts';
import { callTools } from './call-tools.ts';

/**
 * Drives an agent by its model: context → model → admit the batch → dispatch → append → again. A pure function of what its
 * effects returned; rejects only with infrastructure errors.
 */
export function loop(run: RunContext, self: Invocation, opening: InitialMessages): Promise<AgentOutcome> {
  // Not async: while its first call is under way a run keeps no frame of it.
  try {
    const offered = run.tools.askSources(self, self.definition as ModelAgent);
    if (offered === undefined) return begin(run, self, opening);
    return offered.then(
      () => begin(run, self, opening),
      (thrown: unknown) => failedToOpen(run, self, opening, thrown),
    );
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

function begin(run: RunContext, self: Invocation, opening: InitialMessages): Promise<AgentOutcome> {
  const transcript = tryOpen(run, self, opening);
  if ('status' in transcript) return Promise.resolve(transcript);
  if (transcript.agent.quarantined) return turns(run, transcript).then(quarantinedEnd);
  return transcript.conversation === undefined ? turns(run, transcript) : inConversation(run, transcript, turns);
}

async function turns(run: RunContext, transcript: Transcript): Promise<AgentOutcome> {
  const { self } = transcript;
  for (;;) {
    const limit = stepLimit(run, self);
    if (limit !== undefined) return wrapUp(run, transcript, 'step_limit', limited(run, self, limit));
    const entering = enter(run, transcript, `${self.path}/${self.step + 1}/model`);
    const arrived = entering instanceof Promise ? await entering : entering;
    const ended = endOfReplay(run, self);
    if (ended !== undefined) return over(transcript, end(transcript, ended.status, stopError(ended)));
    self.step += 1;
    const step = self.step;
    countStep(run, self);
    const since = beginStep(run, self, arrived);
    const reply = await answer(run, transcript, `${self.path}/${step}/model`);
    const isAsked =
      reply.ok && isEmpty(reply.value) && transcript.truncatedText === '' && !transcript.agent.quarantined;
    const turn = isAsked ? await askAgain(run, transcript) : reply;
    if (!turn.ok) {
      endStep(run, self, since);
      return over(transcript, failed(transcript, turn));
    }
    const calls = toolCallsOf(turn.value.content);
    if (calls.length === 0) {
      if (!isEmpty(turn.value)) append(transcript, assistant(transcript, turn.value));
      const mayContinue = !transcript.agent.quarantined;
      const continues = mayContinue && (turn.value.stop === 'paused' || (await mustContinue(run, transcript)));
      const outcome = continues ? undefined : await finish(run, transcript, turn.value);
      endStep(run, self, since);
      if (outcome !== undefined) return outcome;
      continue;
    }
    const refused = admit(run, self, calls.length);
    if (refused !== undefined) {
      endStep(run, self, since);
      return over(transcript, end(transcript, 'tool_limit', limited(run, self, refused)));
    }
    append(transcript, assistant(transcript, turn.value));
    const { loops, answer: passed } = await callTools(run, transcript, calls);
    endStep(run, self, since);
    if (transcript.handoff !== undefined) return handOver(run, transcript, transcript.handoff);
    const stop = stopAfterStep(run, self);
    if (stop !== undefined) return over(transcript, end(transcript, stop.status, stopError(stop)));
    if (loops !== undefined) return wrapUp(run, transcript, 'loop_detected', loops);
    const outcome = passed && !(await mustContinue(run, transcript)) ? passOn(transcript, passed) : undefined;
    if (outcome !== undefined) return outcome;
  }
}

/** An end that not all background workers may have come to: they are stopped and waited for first. */
function over({ self }: Transcript, outcome: AgentOutcome): AgentOutcome | Promise<AgentOutcome> {
  const { workers } = self;
  return workers === undefined ? outcome : workers.close(endedWith(outcome.status)).then(() => outcome);
}

/** A function of the definition that throws is the end of this invocation, not of the run. */
function tryOpen(run: RunContext, self: Invocation, opening: InitialMessages): Transcript | AgentOutcome {
  try {
    return openTranscript(run, self, opening);
  } catch (thrown) {
    return failedToOpen(run, self, opening, thrown);
  }
}

function failedToOpen(run: RunContext, self: Invocation, opening: InitialMessages, thrown: unknown): AgentOutcome {
  // With tools that a server names and describes the mistake may be the server's: it must not end the whole run.
  const isOffered = isA(thrown, ConfigurationError) && (self.definition as ModelAgent).sources.length > 0;
  if (isFatal(thrown) && !isOffered) throw thrown;
  const stop = run.stops.at(self.path);
  const facts = { self, text: '', messages: opening.brief, label: self.label };
  if (stop !== undefined) return { ...facts, status: stop.status, error: stopError(stop) };
  // A source of tools says by itself what is wrong.
  const said = isA(thrown, ToolError) || isOffered ? { message: messageOf(thrown), code: thrown.code } : undefined;
  const message = said?.message ?? `a function of the definition threw: ${messageOf(thrown)}`;
  return { ...facts, status: 'model_error', error: { kind: 'unknown', retryable: false, ...said, message } };
}

/**
 * What a quarantined agent ends with. Its output is of a closed type, so nothing that strangers wrote is in it: it counts as trusted.
 * It is all that goes out; of an answer that does not fit goes out that it did not.
 */
function quarantinedEnd(outcome: AgentOutcome): AgentOutcome {
  const { self, status, output, error } = outcome;
  if (status === 'completed') {
    self.label = Object.freeze({ ...self.label, integrity: 'trusted' });
    return { ...outcome, text: JSON.stringify(output) ?? '', label: self.label };
  }
  if (error?.kind !== 'invalid_output') return { ...outcome, text: '' };
  const message = 'the answer of the quarantined worker does not have the form of its output; what it said is withheld';
  return { ...outcome, text: '', error: { ...error, message } };
}
