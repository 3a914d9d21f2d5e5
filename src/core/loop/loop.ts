import type { ModelAgent } from '../contract/agent.ts';
import type { Ending } from '../contract/ending.ts';
import { admit, limited, stepLimit } from '../runtime/admission.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Opening, RunContext } from '../runtime/run-context.ts';
import { isEndOf, stopError } from '../runtime/stops.ts';
import { quarantinedEnd } from '../schema/quarantine.ts';
import { answer, askAgain } from '../turn/answer.ts';
import { enter, mustGoOn, wentOn } from '../turn/arrivals.ts';
import { isEmpty } from '../turn/ask.ts';
import { conclude, end, endedWith, failed, passOn, wrapUp } from '../turn/conclude.ts';
import { inConversation } from '../turn/conversation.ts';
import { handOver } from '../turn/handoff.ts';
import { beginStep, endStep } from '../turn/step.ts';
import { append, assistant, openTalk, type Talk } from '../turn/talk.ts';
import { ConfigurationError, type ErrorRecord, isA, isFatal, messageOf, ToolError } from '../values/errors.ts';
import { toolCallsOf } from '../values/message.ts';
import type { Stop } from '../values/status.ts';
import { callTools } from './call-tools.ts';

/**
 * Drives an agent by its model: context → model → admit the batch → dispatch → append → again. A pure function of what its
 * effects returned; rejects only with infrastructure errors.
 */
export function loop(run: RunContext, self: Invocation, opening: Opening): Promise<Ending> {
  // Not async: while its first call is under way a run keeps no frame of it.
  try {
    const offered = run.offers(self, self.definition as ModelAgent);
    if (offered === undefined) return begin(run, self, opening);
    return offered.then(
      () => begin(run, self, opening),
      (thrown: unknown) => failedToOpen(run, self, opening, thrown),
    );
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

function begin(run: RunContext, self: Invocation, opening: Opening): Promise<Ending> {
  const talk = tryOpen(run, self, opening);
  if ('status' in talk) return Promise.resolve(talk);
  if (talk.agent.quarantined) return turns(run, talk).then(quarantinedEnd);
  return talk.conversation === undefined ? turns(run, talk) : inConversation(run, talk, turns);
}

async function turns(run: RunContext, talk: Talk): Promise<Ending> {
  const { self } = talk;
  for (;;) {
    const limit = stepLimit(run, self);
    if (limit !== undefined) return wrapUp(run, talk, 'step_limit', limited(run, self, limit));
    const entering = enter(run, talk, `${self.path}/${self.step + 1}/model`);
    const arrived = entering instanceof Promise ? await entering : entering;
    const played = run.isReplay ? playedOut(run, self) : undefined;
    if (played !== undefined) return over(talk, end(talk, played.status, stopError(played)));
    self.step += 1;
    const step = self.step;
    if (!run.journal.has(`${self.path}/${step}`)) run.count.steps += 1;
    const since = beginStep(run, self, arrived);
    const reply = await answer(run, talk, `${self.path}/${step}/model`);
    const isAsked = reply.ok && isEmpty(reply.value) && talk.cutText === '' && !talk.agent.quarantined;
    const turn = isAsked ? await askAgain(run, talk) : reply;
    if (!turn.ok) {
      endStep(run, self, since);
      return over(talk, failed(talk, turn));
    }
    const calls = toolCallsOf(turn.value.content);
    if (calls.length === 0) {
      if (!isEmpty(turn.value)) append(talk, assistant(talk, turn.value));
      const mayGoOn = !talk.agent.quarantined;
      const goesOn = mayGoOn && (turn.value.stop === 'paused' || (await mustGoOn(run, talk)));
      const ending = goesOn ? undefined : await conclude(run, talk, turn.value);
      endStep(run, self, since);
      if (ending !== undefined) return ending;
      continue;
    }
    const refused = admit(run, self, calls.length);
    if (refused !== undefined) {
      endStep(run, self, since);
      return over(talk, end(talk, 'tool_limit', limited(run, self, refused)));
    }
    append(talk, assistant(talk, turn.value));
    const { loops, answer: passed } = await callTools(run, talk, calls);
    endStep(run, self, since);
    if (talk.handoff !== undefined) return handOver(run, talk, talk.handoff);
    const stop = stopOf(run, self);
    if (stop !== undefined) return over(talk, end(talk, stop.status, stopError(stop)));
    if (loops !== undefined) return wrapUp(run, talk, 'loop_detected', loops);
    const ending = passed && !(await mustGoOn(run, talk)) ? passOn(talk, passed) : undefined;
    if (ending !== undefined) return ending;
  }
}

/** An end that not all background workers may have come to: they are stopped and waited for first. */
function over({ self }: Talk, ending: Ending): Ending | Promise<Ending> {
  const { workers } = self;
  return workers === undefined ? ending : workers.close(endedWith(ending.status)).then(() => ending);
}

/** A stop counts where the records end: what went on from here did so before it came. */
function stopOf(run: RunContext, self: Invocation): Stop | undefined {
  const stop = run.stops.at(self.path);
  if (stop === undefined || !run.journal.isResumed) return stop;
  const past = run.journal.recall('agent', self.path) as { readonly error?: ErrorRecord } | undefined;
  const cameLater = wentOn(run, self) || (past !== undefined && !isEndOf(stop, past.error));
  return cameLater ? undefined : stop;
}

/** A replay has come to where the records end: no step begins. */
function playedOut(run: RunContext, { path, step }: Invocation): Stop | undefined {
  const next = `${path}/${step + 1}`;
  return run.journal.has(next) ? undefined : run.endsBefore(`${next}/model`);
}

/** A function of the definition that throws is the end of this invocation, not of the run. */
function tryOpen(run: RunContext, self: Invocation, opening: Opening): Talk | Ending {
  try {
    return openTalk(run, self, opening);
  } catch (thrown) {
    return failedToOpen(run, self, opening, thrown);
  }
}

function failedToOpen(run: RunContext, self: Invocation, opening: Opening, thrown: unknown): Ending {
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
