import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { BuiltinProcedureContext } from '../runtime/builtin-context.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { recordedValue } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { parseOutput } from '../schema/parse-output.ts';
import { ToolError } from '../values/errors.ts';
import { joinLabels } from '../values/label.ts';
import type { Message } from '../values/message.ts';
import { arrivalsBefore, enter } from './arrivals.ts';
import { type Transcript, transcriptOf } from './transcript.ts';

/** A worker that is about to take a conversation over, or has. */
export interface Handoff {
  readonly worker: Invocation;
  readonly outcome: Promise<AgentOutcome>;
  /** A message of its supervisor beside the conversation. */
  readonly message: string | undefined;
  /** Lets it begin, with the whole conversation. */
  begin(transcript: readonly Message[]): void;
}

/** A call of a handoff: the worker is admitted, and begins when the turn's other calls have ended. Gives the result for the model. */
export async function takeOver(
  { message }: { readonly message?: string },
  ctx: BuiltinProcedureContext,
): Promise<string> {
  const { run, self, base, step, parentStep, delegate } = ctx.site;
  const transcript = transcriptOf(self);
  const agent = delegate?.type === 'procedure' ? delegate.delegate?.agent : undefined;
  if (agent === undefined || delegate === undefined) throw new ToolError('threw', 'this is no handoff');
  const isOfTurn = base.startsWith(`${self.path}/${step}.`) && !base.slice(self.path.length + 1).includes('/');
  if (transcript === undefined || !isOfTurn)
    throw new ToolError('denied', 'code has no conversation to hand over: call the worker instead');
  const winner: OnceKey<string> = `${self.path}/${step}/@handoff`;
  const recorded = recordedValue(run, winner);
  if (transcript.handoff !== undefined || (recorded !== undefined && recorded !== base)) {
    const taker = transcript.handoff === undefined ? 'another worker' : transcript.handoff.worker.agent;
    throw new ToolError('denied', `the conversation goes to ${taker} already; only one worker can take it over`);
  }
  const running = run.journal.once(`${base}/@running`, self, () => self.workers?.running.length ?? 0);
  if (running > 0)
    throw new ToolError('denied', `${running} of your workers run: wait for them, or cancel them, then hand over`);
  const { promise, resolve } = Promise.withResolvers<readonly Message[]>();
  const child = { key: `${base}/${agent.name}`, parent: self, parentStep, parentSpan: self.span, label: ctx.label };
  const started = run.children.start({ ...child, agent, input: undefined, delegate, transcript: promise });
  // Not awaited until the turn is over.
  started.outcome.catch(() => {});
  run.journal.once(winner, self, () => base);
  transcript.handoff = { worker: started.self, outcome: started.outcome, message, begin: resolve };
  return `The conversation goes on with ${agent.name}.`;
}

/** The worker continues the conversation, and its outcome is that of its supervisor. */
export async function handOver(run: RunContext, transcript: Transcript, handoff: Handoff): Promise<AgentOutcome> {
  const { self, messages } = transcript;
  await enter(transcript, arrivalsBefore(run, self, `${handoff.worker.path}/1/model`));
  // After a resume: what came when the worker was at work already.
  run.inbox.move(self.path, handoff.worker.path);
  const { message } = handoff;
  const more: Message[] =
    message === undefined ? [] : [{ role: 'user', content: message, from: self.agent, label: self.label }];
  handoff.begin(Object.freeze([...messages, ...more.map((one) => Object.freeze(one))]));
  const outcome = await handoff.outcome;
  Object.freeze(messages);
  self.truncatedResults = undefined;
  self.label = joinLabels(self.label, outcome.label);
  return asOwn(transcript, outcome);
}

function asOwn({ self, agent }: Transcript, { status, text, output, error, messages }: AgentOutcome): AgentOutcome {
  const facts = { self, text, messages, label: self.label };
  if (status !== 'completed') return { ...facts, status, ...(error !== undefined && { error }) };
  if (agent.output === undefined) return { ...facts, status, output: text };
  const parsed = parseOutput(typeof output === 'string' ? output : JSON.stringify(output), agent.output);
  if (parsed.ok) return { ...facts, status, output: parsed.value };
  const message = `the worker that took over gave another form than is asked for: ${parsed.message}`;
  return { ...facts, status: 'invalid_output', error: { kind: 'invalid_output', message, retryable: false } };
}
