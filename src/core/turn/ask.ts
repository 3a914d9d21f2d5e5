import type { Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Due } from '../runtime/selector.ts';
import { besideAgain } from '../values/address.ts';
import type { ModelTurn, ToolChoice } from '../values/model.ts';
import { compact, dueBefore, noteContext, pastOf } from './compact.ts';
import { callModel } from './hooked-model.ts';
import { ModelCallEffect } from './model-call.ts';
import type { Transcript } from './transcript.ts';

/** One model call over what the window selects. Not async: while it is under way only the effect's own frame is kept. */
export function ask(
  run: RunContext,
  transcript: Transcript,
  key: string,
  toolChoice?: ToolChoice,
): Promise<Outcome<ModelTurn>> {
  const due = dueBefore(run, transcript, key, 1);
  return due === undefined
    ? askNow(run, transcript, key, toolChoice)
    : askCompacted(run, transcript, key, due, toolChoice);
}

async function askCompacted(
  run: RunContext,
  transcript: Transcript,
  key: string,
  due: Due,
  toolChoice: ToolChoice | undefined,
): Promise<Outcome<ModelTurn>> {
  const stopped = await compact(run, transcript, key, due);
  return stopped ?? askNow(run, transcript, key, toolChoice);
}

function askNow(
  run: RunContext,
  transcript: Transcript,
  key: string,
  toolChoice: ToolChoice | undefined,
): Promise<Outcome<ModelTurn>> {
  const selection = transcript.selector.select(transcript.messages, pastOf(run, key));
  if (!selection.ok) {
    const why =
      selection.cause === undefined ? '' : `; nothing more is compacted since one try failed (${selection.cause})`;
    const message = `what must stay needs ${selection.needed} tokens, the window has room for ${selection.available}${why}`;
    return Promise.resolve({ ok: false, error: { kind: 'context_limit', message, retryable: false } });
  }
  const { dropped, tokensBefore, tokensAfter, cut } = selection;
  if (dropped > 0) {
    noteContext(run, transcript, besideAgain(key, 'window', 1), {
      how: 'drop',
      dropped,
      tokensBefore,
      tokensAfter,
      cut,
    });
  }
  transcript.sent = selection;
  const choice = transcript.tools.size > 0 ? (toolChoice ?? choiceOf(transcript)) : undefined;
  return callModel(
    run,
    transcript.self,
    new ModelCallEffect(run, transcript.self, key, transcript.question, selection, choice),
  );
}

/** A forced call of the settings holds until a tool was called: else the model could never answer. */
function choiceOf({ question, self }: Transcript): ToolChoice | undefined {
  const choice = question.settings.toolChoice;
  const isForced = choice === 'required' || typeof choice === 'object';
  return isForced && self.toolCalls > 0 ? 'auto' : choice;
}

/** Neither text nor calls. */
export function isEmpty(turn: ModelTurn): boolean {
  return (
    turn.stop !== 'paused' &&
    !turn.content.some((part) => part.type === 'tool_call' || (part.type === 'text' && part.text.trim() !== ''))
  );
}
