import type { Outcome } from './journal.ts';
import type { ModelTurn, ToolChoice } from './model.ts';
import { ModelCallEffect } from './model-call.ts';
import type { RunContext } from './run-context.ts';
import { addSpending, spendingOfCall } from './spending.ts';
import type { Talk } from './talk.ts';
import { addUsage, usageOfCall } from './usage.ts';

/** One model call over what the window selects. Not async: while it is under way only the effect's own frame is kept. */
export function ask(run: RunContext, talk: Talk, key: string, toolChoice?: ToolChoice): Promise<Outcome<ModelTurn>> {
  const { self } = talk;
  const selection = talk.selector.select(talk.messages);
  if (!selection.ok) {
    const message = `what must stay needs ${selection.needed} tokens, the window has room for ${selection.available}`;
    return Promise.resolve({ ok: false, error: { kind: 'context_limit', message, retryable: false } });
  }
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
  const choice = talk.tools.size > 0 ? toolChoice : undefined;
  return run.journal.effect(new ModelCallEffect(run, self, key, talk.question, selection, choice));
}

/** Counts what a model call spent, and tells the window's ruler. */
export function settle(run: RunContext, talk: Talk, outcome: Outcome<ModelTurn>): Outcome<ModelTurn> {
  const { self } = talk;
  if (!outcome.ok && (outcome.stop !== undefined || NEVER_ASKED.includes(outcome.error.kind))) return outcome;
  const turn = outcome.ok ? outcome.value : undefined;
  const spending = spendingOfCall(turn?.usage, turn?.costUsd, outcome.ok ? undefined : outcome.error.kind);
  const ofTree = addUsage(run.count.usage, usageOfCall(turn?.usage));
  if (addSpending(self.spending, spending) === undefined || ofTree === undefined) {
    // It was a call, and what it spent is unknown.
    self.spend(spendingOfCall(undefined, undefined, 'malformed_response'), undefined);
    run.count.usage = addUsage(run.count.usage, usageOfCall(undefined)) ?? run.count.usage;
    return {
      ok: false,
      error: { kind: 'malformed_response', message: 'the sum of reported tokens passes 2^53 − 1', retryable: false },
    };
  }
  self.spend(spending, turn?.by);
  run.count.usage = ofTree;
  if (turn?.usage !== undefined) talk.selector.anchor(turn.usage.inputTokens);
  return outcome;
}

/** Refused before the provider was reached. */
const NEVER_ASKED: readonly string[] = ['context_limit', 'token_limit', 'cost_limit'];

/** A turn with neither text nor calls is asked once more, outside `steps`; then the answer is an earlier text of this invocation. */
export async function askAgain(run: RunContext, talk: Talk): Promise<Outcome<ModelTurn>> {
  const again = settle(run, talk, await ask(run, talk, `${talk.self.path}/${talk.self.step}/@again`));
  if (!again.ok || !isEmpty(again.value)) return again;
  if (talk.lastText !== '')
    return { ok: true, value: { content: [{ type: 'text', text: talk.lastText }], stop: 'end' } };
  return {
    ok: false,
    error: {
      kind: 'empty_response',
      message: 'the model answered twice with neither text nor calls',
      retryable: false,
    },
  };
}

/** Neither text nor calls. */
export function isEmpty(turn: ModelTurn): boolean {
  return (
    turn.stop !== 'paused' &&
    !turn.content.some((part) => part.type === 'tool_call' || (part.type === 'text' && part.text.trim() !== ''))
  );
}
