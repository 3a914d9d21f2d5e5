import type { ModelAgent } from '../contract/agent.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { InitialMessages } from '../runtime/initial-messages.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { completeStep } from '../turn/answer.ts';
import { requestStep } from '../turn/ask.ts';
import { inConversation } from '../turn/conversation.ts';
import { failTurn, finishTurn } from '../turn/finish.ts';
import { openTranscript } from '../turn/open-transcript.ts';
import type { Transcript } from '../turn/transcript.ts';
import { toolCallsOf } from '../values/message.ts';
import { beginTurn } from './begin-turn.ts';
import { callTurn } from './call-turn.ts';
import { notOpened } from './not-opened.ts';
import { quarantined } from './quarantined.ts';

/**
 * Drives an agent by its model: context → model → admit the batch → dispatch → append → again. A pure function of what its
 * effects returned; rejects only with infrastructure errors.
 */
export async function loop(run: RunContext, self: Invocation, initial: InitialMessages): Promise<AgentOutcome> {
  let transcript: Transcript;
  try {
    const asked = run.tools.askSources(self, self.definition as ModelAgent);
    if (asked !== undefined) await asked;
    transcript = openTranscript(run, self, initial);
  } catch (thrown) {
    return notOpened(run, self, initial, thrown);
  }
  if (transcript.agent.quarantined) return quarantined(await turns(run, transcript));
  return transcript.conversation === undefined ? turns(run, transcript) : inConversation(run, transcript, turns);
}

/** One turn after the other, until one gives the outcome or none may begin. */
async function turns(run: RunContext, transcript: Transcript): Promise<AgentOutcome> {
  for (;;) {
    // Awaited only where something arrived: see the permission in `dispatch`.
    const begun = beginTurn(run, transcript);
    let outcome = begun instanceof Promise ? await begun : begun;
    if (outcome !== undefined) return outcome;
    const turn = await completeStep(run, transcript, await requestStep(run, transcript));
    if (!turn.ok) return failTurn(run, transcript, turn);
    const calls = toolCallsOf(turn.value.content);
    outcome = await (calls.length === 0
      ? finishTurn(run, transcript, turn.value)
      : callTurn(run, transcript, turn.value, calls));
    if (outcome !== undefined) return outcome;
  }
}
