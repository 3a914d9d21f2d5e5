import { defineTool } from '../core/call/define-tool.ts';
import type { ProcedureContext } from '../core/contract/procedure-context.ts';
import type { AskFunction, ProcedureTool } from '../core/contract/tool.ts';
import { askBeside } from '../core/loop/ask-beside.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';
import { Stopped } from '../core/runtime/guard.ts';
import type { Outcome } from '../core/runtime/journal.ts';
import { workerId } from '../core/runtime/threads.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import type { Schema } from '../core/schema/schema.ts';
import { transcriptOf } from '../core/turn/transcript.ts';
import { boundText } from '../core/values/bound-json.ts';
import { messageOf, ToolError } from '../core/values/errors.ts';
import type { Label } from '../core/values/label.ts';
import { textOf, type UserMessage } from '../core/values/message.ts';

const MAX_QUESTION_CHARS = 4_000;
/** Characters of the worker's brief that its question repeats. */
const MAX_BRIEF_CHARS = 2_000;

/** The tool of a worker whose delegate has `answers`. */
export const askSupervisor: ProcedureTool = defineTool({
  name: 'ask_supervisor',
  description:
    'Asks the one who gave you your task a question that only they can answer, and waits for the answer. ' +
    'Say all that is needed to understand it: they do not see what you did.',
  access: 'read',
  input: {
    type: 'object',
    properties: { question: { type: 'string', minLength: 1, maxLength: MAX_QUESTION_CHARS } },
    required: ['question'],
    additionalProperties: false,
  },
  run: (input, ctx: ProcedureContext) =>
    answerTo((input as { question: string }).question, ctx as BuiltinProcedureContext),
});

function answerTo(question: string, ctx: BuiltinProcedureContext): Promise<string> {
  const { ask } = ctx.site.self.delegate ?? {};
  if (ask === 'person') return byPerson(question, ctx);
  return typeof ask === 'function' ? byCode(ask, question, ctx) : bySupervisor(question, ctx);
}

async function bySupervisor(question: string, ctx: BuiltinProcedureContext): Promise<string> {
  const { run, self, base, span } = ctx.site;
  const transcript = self.parent && transcriptOf(self.parent);
  if (self.parent === undefined || transcript === undefined) throw new ToolError('threw', 'there is nobody to ask');
  // What the supervisor has seen by now depends on timing; a resume must not take it for less.
  const { label } = self.parent;
  ctx.join(run.journal.once(`${base}/@asked`, self, (): Label => label));
  const key = `${base}/@answer`;
  const outcome = await askBeside(run, transcript, { key, span }, questionOf(question, ctx));
  if (!outcome.ok) throw unanswered(outcome);
  const text = textOf(outcome.value.content).trim();
  if (text === '') throw new ToolError('threw', 'the supervisor gave no answer');
  return text;
}

function questionOf(question: string, { site, label }: BuiltinProcedureContext): UserMessage {
  const { self } = site;
  const brief = boundText(textOf(transcriptOf(self)?.messages[0]?.content ?? ''), MAX_BRIEF_CHARS);
  const content = `Worker ${workerId(self)} asks you a question. Its task is:

${brief}

It asks:

${question}

Answer in words: tools cannot be called now. The worker reads your answer and goes on; nothing of this enters your conversation.`;
  return Object.freeze({ role: 'user', content, from: self.agent, label });
}

let text: Schema | undefined;

async function byPerson(question: string, { site, path, runId }: BuiltinProcedureContext): Promise<string> {
  const { run, self, step } = site;
  text ??= compileSchema({ type: 'string', minLength: 1 }, 'ask_supervisor', { root: 'any' });
  const id = `${path}/@answer`;
  const request = { id, runId, path: self.path, agent: self.agent, reason: 'wait', request: { question } } as const;
  const outcome = await run.questions.ask(request, self, step, text);
  if (!outcome.ok) throw unanswered(outcome);
  return outcome.value as string;
}

/** The answer or error of code is recorded, so that code is called once. */
type Answer = { readonly answer: string } | { readonly error: string };

async function byCode(ask: AskFunction, question: string, { site, path }: BuiltinProcedureContext): Promise<string> {
  const { run, self } = site;
  const { deps, id: runId } = run;
  const context = { path: self.path, agent: self.agent, runId, deps, shared: self.shared };
  const propose = async (): Promise<Answer> => {
    try {
      const answer = await ask(question, context as never);
      return { answer: typeof answer === 'string' ? answer : JSON.stringify(answer ?? null) };
    } catch (thrown) {
      return { error: messageOf(thrown) };
    }
  };
  const given = await (run.journal.once(`${path}/@answer`, self, propose) as Promise<Answer> | Answer);
  if ('error' in given) throw new ToolError('threw', `no answer: ${given.error}`);
  return given.answer;
}

/** A stopped question was not refused: a resume asks it again. */
function unanswered({ error, stop }: Extract<Outcome, { ok: false }>): ToolError | Stopped {
  if (stop !== undefined) return new Stopped(stop);
  return new ToolError(error.kind === 'denied' ? 'denied' : 'threw', `no answer: ${error.kind}: ${error.message}`);
}
