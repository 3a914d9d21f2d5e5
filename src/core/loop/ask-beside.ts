import type { Span } from '../contract/record.ts';
import type { Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { countCall } from '../runtime/settle.ts';
import { ModelCallEffect } from '../turn/model-call.ts';
import type { Question } from '../turn/question.ts';
import type { Talk } from '../turn/talk.ts';
import { canonical, sha256 } from '../values/json.ts';
import { type Message, textOf, type UserMessage } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';

const questions = new WeakMap<Talk, Question>();

/**
 * One call of an invocation's model beside its transcript: its last request as it was, which a provider has cached, and a
 * message after it, with tools off. Neither the message nor the answer enters the transcript. The call is paid by the
 * invocation, and stands where it is asked from: at `key`, below `span`.
 */
export async function askBeside(
  run: RunContext,
  talk: Talk,
  { key, span }: { readonly key: string; readonly span: Span },
  message: UserMessage,
): Promise<Outcome<ModelTurn>> {
  const { self, sent } = talk;
  const before = sent?.messages ?? talk.messages;
  const asked = {
    messages: [...before, message],
    from: before.length,
    tokensAfter: (sent?.tokensAfter ?? 0) + run.estimate(textOf(message.content)),
  };
  const choice = talk.tools.size > 0 ? 'none' : undefined;
  const call = new ModelCallEffect(run, self, key, questionOf(talk), asked, choice, span);
  return countCall(run, self, await run.journal.effect(call));
}

/** Of the same instructions and tools. An answer for a worker is words, whatever form the invocation's own has to have. */
function questionOf(talk: Talk): Question {
  let question = questions.get(talk);
  if (question === undefined) {
    question = { ...talk.question, output: undefined, chain: ONLY_THE_LAST, isShown: false };
    questions.set(talk, question);
  }
  return question;
}

/** What stands before the message depends on how far the invocation had come; what is asked does not. */
const ONLY_THE_LAST = Object.freeze({
  extend(messages: readonly Message[]): string {
    return sha256(canonical(messages.at(-1)?.content));
  },
});
