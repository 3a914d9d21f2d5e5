import { countCall } from '../runtime/count-call.ts';
import type { Failure, Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Due, Selection } from '../runtime/selector.ts';
import { beside, besideAgain } from '../values/address.ts';
import type { ModelTurn, ToolChoice } from '../values/model.ts';
import { compact, dueBefore, noteContext, noteOf, sentBefore } from './compact.ts';
import { callModel } from './hooked-model.ts';
import { ModelCallEffect } from './model-call.ts';
import type { Transcript } from './transcript.ts';

/** One model call over what the window selects of the transcript, and what it spent is counted. */
export async function ask(
  run: RunContext,
  transcript: Transcript,
  key: string,
  toolChoice?: ToolChoice,
): Promise<Outcome<ModelTurn>> {
  return countTurn(run, transcript, key, await request(run, transcript, key, toolChoice));
}

/** The first model call of a step, not counted. */
export function requestStep(run: RunContext, transcript: Transcript): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  const { path, step } = transcript.self;
  return request(run, transcript, `${path}/${step}/model`);
}

/**
 * A model call, not counted. Not async: its frame takes 6 % of the heap of a run that is parked in its first call (9.65 KB with it,
 * 9.12 KB without).
 */
function request(
  run: RunContext,
  transcript: Transcript,
  key: string,
  toolChoice?: ToolChoice,
): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  const due = dueBefore(run, transcript, key, 1);
  return due === undefined
    ? send(run, transcript, key, toolChoice)
    : compactAndSend(run, transcript, key, due, toolChoice);
}

async function compactAndSend(
  run: RunContext,
  transcript: Transcript,
  key: string,
  due: Due,
  toolChoice: ToolChoice | undefined,
): Promise<Outcome<ModelTurn>> {
  const stopped = await compact(run, transcript, key, due);
  return stopped ?? send(run, transcript, key, toolChoice);
}

function send(
  run: RunContext,
  transcript: Transcript,
  key: string,
  toolChoice: ToolChoice | undefined,
): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  const { selector, messages, question, tools, self } = transcript;
  const selection = selector.select(messages, sentBefore(run, key));
  if (!selection.ok) return tooLong(selection);
  if (selection.dropped > 0)
    noteContext(run, self, besideAgain(key, 'window', 1), { how: 'drop', ...noteOf(selection) });
  transcript.sent = selection;
  const choice = tools.size > 0 ? (toolChoice ?? choiceOf(transcript)) : undefined;
  return callModel(run, self, new ModelCallEffect(run, self, key, question, selection, choice));
}

function tooLong({ needed, available, cause }: Extract<Selection, { ok: false }>): Failure {
  const why = cause === undefined ? '' : `; nothing more is compacted since one try failed (${cause})`;
  const message = `what must stay needs ${needed} tokens, the window has room for ${available}${why}`;
  return { ok: false, error: { kind: 'context_limit', message, retryable: false } };
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

/** Counts what a model call spent, anchors the window's ruler, and reports another model version than before. */
export function countTurn(
  run: RunContext,
  transcript: Transcript,
  key: string,
  outcome: Outcome<ModelTurn>,
): Outcome<ModelTurn> {
  const counted = countCall(run, transcript.self, outcome);
  if (!counted.ok) return counted;
  const { usage, response } = counted.value;
  if (usage !== undefined) transcript.selector.anchor(usage.inputTokens);
  noteVersion(run, transcript, key, response?.model);
  return counted;
}

/** The provider answers with another version than before in this invocation: answers may differ from here on. */
function noteVersion(run: RunContext, transcript: Transcript, key: string, version: string | undefined): void {
  const { version: before, self } = transcript;
  if (version === undefined) return;
  transcript.version = version;
  if (before !== undefined && before !== version) {
    run.journal.once(beside(key, 'version'), self, () => ({ from: before, to: version }));
  }
}
