import type { Outcome } from './journal.ts';
import type { ModelTurn, ToolChoice } from './model.ts';
import { ModelCallEffect } from './model-call.ts';
import type { RunContext, Selection } from './run-context.ts';
import { spendingOfCall } from './spending.ts';
import type { Talk } from './talk.ts';
import { addUsage, usageOfCall } from './usage.ts';

/** One model call over what the window selects. Not async: while it is under way only the effect's own frame is kept. */
export function ask(run: RunContext, talk: Talk, key: string, toolChoice?: ToolChoice): Promise<Outcome<ModelTurn>> {
  const selection = talk.selector.select(talk.messages);
  if (!selection.ok) {
    const message = `what must stay needs ${selection.needed} tokens, the window has room for ${selection.available}`;
    return Promise.resolve({ ok: false, error: { kind: 'context_limit', message, retryable: false } });
  }
  return send(run, talk, key, selection, toolChoice);
}

/** One model call over a selection. */
export function send(
  run: RunContext,
  talk: Talk,
  key: string,
  selection: Extract<Selection, { ok: true }>,
  toolChoice?: ToolChoice,
): Promise<Outcome<ModelTurn>> {
  const { self } = talk;
  if (selection.dropped > 0) {
    const { dropped, tokensBefore, tokensAfter } = selection;
    const entry = {
      key: `${self.path}/${self.step}/@window`,
      place: self,
      step: self.step,
      attempt: 1,
      span: self.span,
    } as const;
    run.journal.note({ ...entry, kind: 'context', event: 'done', value: { dropped, tokensBefore, tokensAfter } });
  }
  const choice = talk.tools.size > 0 ? (toolChoice ?? choiceOf(talk)) : undefined;
  return run.journal.effect(new ModelCallEffect(run, self, key, talk.question, selection, choice));
}

/** A forced call of the settings holds until a tool was called: else the model could never answer. */
function choiceOf({ question, self }: Talk): ToolChoice | undefined {
  const choice = question.settings.toolChoice;
  const isForced = choice === 'required' || typeof choice === 'object';
  return isForced && self.toolCalls > 0 ? 'auto' : choice;
}

/** The address of a call beside another of the same step: `lead/2/model` → `lead/2/@continue`, `lead/2/@repair` → `lead/2/@repair.continue`. */
export function beside(key: string, what: string): string {
  const at = key.lastIndexOf('/') + 1;
  return key.charCodeAt(at) === 64 ? `${key}.${what}` : `${key.slice(0, at)}@${what}`;
}

/** Counts what a model call spent, tells the window's ruler, and reports another model version than before. */
export function settle(run: RunContext, talk: Talk, key: string, outcome: Outcome<ModelTurn>): Outcome<ModelTurn> {
  const { self } = talk;
  const { usage, costUsd } = outcome.ok ? outcome.value : outcome.error;
  // Stopped or refused, and no attempt before has cost anything.
  const isNone = !outcome.ok && usage === undefined;
  if (isNone && (outcome.stop !== undefined || NEVER_ASKED.includes(outcome.error.kind))) return outcome;
  const spending = spendingOfCall(usage, costUsd, outcome.ok ? undefined : outcome.error.kind);
  const ofTree = addUsage(run.count.usage, spending.usage);
  if (ofTree === undefined || !self.spend(spending, outcome.ok ? outcome.value.by : undefined)) {
    // It was a call, and what it spent is unknown.
    self.spend(spendingOfCall(undefined, undefined, 'malformed_response'), undefined);
    run.count.usage = addUsage(run.count.usage, usageOfCall(undefined)) ?? run.count.usage;
    return {
      ok: false,
      error: { kind: 'malformed_response', message: 'the sum of reported tokens passes 2^53 − 1', retryable: false },
    };
  }
  run.count.usage = ofTree;
  if (!outcome.ok) return outcome;
  if (usage !== undefined) talk.selector.anchor(usage.inputTokens);
  noteVersion(run, talk, key, outcome.value.response?.model);
  return outcome;
}

/** Kinds of errors by which a call was refused before the provider was reached. */
export const NEVER_ASKED: readonly string[] = ['context_limit', 'token_limit', 'cost_limit'];

/** The provider answers with another version than before in this invocation: answers may differ from here on. */
function noteVersion(run: RunContext, talk: Talk, key: string, version: string | undefined): void {
  const { version: before, self } = talk;
  if (version === undefined) return;
  talk.version = version;
  if (before !== undefined && before !== version) {
    run.journal.once(beside(key, 'version'), self, () => ({ from: before, to: version }));
  }
}

/** Neither text nor calls. */
export function isEmpty(turn: ModelTurn): boolean {
  return (
    turn.stop !== 'paused' &&
    !turn.content.some((part) => part.type === 'tool_call' || (part.type === 'text' && part.text.trim() !== ''))
  );
}
