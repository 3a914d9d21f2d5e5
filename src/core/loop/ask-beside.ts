import type { Span } from '../contract/record.ts';
import { countCall } from '../runtime/count-call.ts';
import type { Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { ModelCallEffect } from '../turn/model-call.ts';
import type { Question } from '../turn/question.ts';
import type { Transcript } from '../turn/transcript.ts';
import { canonical, sha256 } from '../values/json.ts';
import { type Message, textOf, type UserMessage } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';

const questions = new WeakMap<Transcript, Question>();

/**
 * One call of an invocation's model beside its transcript: its last request as it was, which a provider has cached, and a
 * message after it, with tools off. Neither the message nor the answer enters the transcript. The invocation pays the call.
 * In the tree the call is at the question: at `key`, below `span`.
 */
export async function askBeside(
  run: RunContext,
  transcript: Transcript,
  { key, span }: { readonly key: string; readonly span: Span },
  message: UserMessage,
): Promise<Outcome<ModelTurn>> {
  const { self, sent } = transcript;
  const before = sent?.messages ?? transcript.messages;
  const asked = {
    messages: [...before, message],
    from: before.length,
    tokensAfter: (sent?.tokensAfter ?? 0) + run.context.estimate(textOf(message.content)),
  };
  const choice = transcript.tools.size > 0 ? 'none' : undefined;
  const call = new ModelCallEffect(run, self, key, questionOf(transcript), asked, choice, span);
  return countCall(run, self, await run.journal.effect(call));
}

/** Of the same instructions and tools. An answer for a worker is words, whatever form the invocation's own has to have. */
function questionOf(transcript: Transcript): Question {
  let question = questions.get(transcript);
  if (question === undefined) {
    question = { ...transcript.question, output: undefined, chain: ONLY_THE_LAST, isShown: false };
    questions.set(transcript, question);
  }
  return question;
}

/** The messages before the question depend on how far the invocation is; the question does not. */
const ONLY_THE_LAST = Object.freeze({
  extend(messages: readonly Message[]): string {
    return sha256(canonical(messages.at(-1)?.content));
  },
});
