import { type Dispatched, dispatch, OneAtATime, request, toolMessage } from './dispatch.ts';
import type { Ending } from './ending.ts';
import type { ErrorRecord } from './errors.ts';
import type { Invocation } from './invocation.ts';
import type { Failure, Outcome } from './journal.ts';
import { joinLabels } from './label.ts';
import { DEFAULTS } from './limits.ts';
import {
  type AssistantMessage,
  type Message,
  type ToolCall,
  textOf,
  toolCallsOf,
  type UserMessage,
} from './message.ts';
import type { ModelTurn, ToolChoice } from './model.ts';
import { ModelCallEffect } from './model-call.ts';
import { parseOutput } from './parse-output.ts';
import { signatureOf } from './repeats.ts';
import type { RunContext } from './run-context.ts';
import type { Status } from './status.ts';
import { stopError } from './stops.ts';
import { openTalk, type Talk } from './talk.ts';
import { addUsage, usageOfCall } from './usage.ts';

/**
 * Drives an agent by its model: context → model → admit the batch → dispatch → append → again. A pure function of what its
 * effects returned; rejects only with infrastructure errors.
 */
export async function loop(run: RunContext, self: Invocation, brief: readonly Message[]): Promise<Ending> {
  const talk = openTalk(run, self, brief);
  if ('status' in talk) return talk;
  for (;;) {
    const over = stepLimit(run, self);
    if (over !== undefined) return wrapUp(run, talk, 'step_limit', limited(run, self, over));
    self.step += 1;
    run.count.steps += 1;
    const step = self.step;
    const since = run.journal.note(stepEntry(self, 'started'));
    const reply = await ask(run, talk, `${self.path}/${step}/model`);
    if (!reply.ok) return fail(run, talk, reply, since);
    const turn = isEmpty(reply.value) ? await askAgain(run, talk) : reply;
    if (!turn.ok) return fail(run, talk, turn, since);
    const calls = toolCallsOf(turn.value.content);
    if (calls.length === 0) {
      if (!isEmpty(turn.value)) append(talk, assistant(talk, turn.value));
      const ending = turn.value.stop === 'paused' ? undefined : await conclude(run, talk, turn.value);
      endStep(run, self, since);
      if (ending !== undefined) return ending;
      continue;
    }
    const refused = admit(run, self, calls.length);
    if (refused !== undefined) {
      endStep(run, self, since);
      return end(talk, 'tool_limit', limited(run, self, refused));
    }
    append(talk, assistant(talk, turn.value));
    const loops = await callTools(run, talk, calls);
    endStep(run, self, since);
    const stop = run.stops.at(self.path);
    if (stop !== undefined) return end(talk, stop.status, stopError(stop));
    if (loops !== undefined) return wrapUp(run, talk, 'loop_detected', loops);
  }
}

/** One model call over what the window selects. */
async function ask(run: RunContext, talk: Talk, key: string, toolChoice?: ToolChoice): Promise<Outcome<ModelTurn>> {
  const { self } = talk;
  const selection = talk.selector.select(talk.messages);
  if (!selection.ok) {
    const message = `what must stay needs ${selection.needed} tokens, the window has room for ${selection.available}`;
    return { ok: false, error: { kind: 'context_limit', message, retryable: false } };
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
  const question = {
    ...talk.question,
    messages: selection.messages,
    from: selection.from,
    inputTokens: selection.tokensAfter,
  };
  const forbidden = toolChoice !== undefined && talk.tools.size > 0;
  const effect = new ModelCallEffect(run, self, key, forbidden ? { ...question, toolChoice } : question);
  const outcome = await run.journal.effect(effect);
  if (!outcome.ok && outcome.stop !== undefined) return outcome;
  const sum = addUsage(self.usage, usageOfCall(outcome.ok ? outcome.value.usage : undefined));
  if (sum === undefined) {
    return {
      ok: false,
      error: { kind: 'malformed_response', message: 'the sum of reported tokens passes 2^53 − 1', retryable: false },
    };
  }
  self.usage = sum;
  if (outcome.ok && outcome.value.usage !== undefined) talk.selector.anchor(outcome.value.usage.inputTokens);
  return outcome;
}

/** A turn with neither text nor calls is asked once more, outside `steps`; then the answer is an earlier text of this invocation. */
async function askAgain(run: RunContext, talk: Talk): Promise<Outcome<ModelTurn>> {
  const again = await ask(run, talk, `${talk.self.path}/${talk.self.step}/@again`);
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

/** The calls of one turn, in parallel; results in call order. Gives the cause where they make a loop. */
async function callTools(run: RunContext, talk: Talk, calls: readonly ToolCall[]): Promise<ErrorRecord | undefined> {
  const { self, tools, repeats } = talk;
  const label = talk.self.label;
  const oneAtATime = new OneAtATime();
  let repeated: ErrorRecord | undefined;
  self.toolCalls += calls.length;
  run.count.toolCalls += calls.length;
  const past: { name: string; signature: string; repeatable: boolean }[] = [];
  const pending = calls.map((call, index) => {
    let requested = request(call, tools);
    const name = requested.tool?.name ?? call.name;
    const seen = {
      name,
      signature: signatureOf(name, requested.args),
      repeatable: requested.tool?.repeatable ?? false,
    };
    past.push(seen);
    if (repeats.isRepeat(seen)) {
      const message = `Not run: ${name} was called with these arguments in each turn before, with the same result. Use that result or do something else.`;
      repeated = { kind: 'loop_detected', message, retryable: false };
      requested = { ...requested, refused: repeated };
    }
    const at = {
      key: `${self.path}/${self.step}.${index}`,
      step: self.step,
      parent: self.span,
      parentStep: { path: self.path, step: self.step, toolCallId: call.id },
    };
    return dispatch(run, self, at, requested, label, oneAtATime);
  });
  const results = pending.length === 1 ? [await (pending[0] as Promise<Dispatched>)] : await Promise.all(pending);
  const noted = results.map(({ out }, index) => {
    const call = calls[index] as ToolCall;
    const key = `${self.path}/${self.step}.${index}`;
    append(talk, toolMessage(call, key, out));
    const result = typeof out.content === 'string' ? out.content : JSON.stringify(out.content);
    return { ...(past[index] as (typeof past)[number]), result, failed: out.isError };
  });
  const failing = repeats.note(noted);
  if (repeated !== undefined) return repeated;
  if (failing === undefined) return undefined;
  return {
    kind: 'loop_detected',
    message: `${failing} failed in ${DEFAULTS.failuresInARow} turns in a row`,
    retryable: false,
  };
}

/** The final turn: its text, or the output that it holds, with one repair. */
async function conclude(run: RunContext, talk: Talk, turn: ModelTurn): Promise<Ending> {
  const { self, agent } = talk;
  const text = textOf(turn.content);
  if (agent.output === undefined) return end(talk, 'completed', undefined, text, text);
  const first = parseOutput(text, agent.output);
  if (first.ok) return end(talk, 'completed', undefined, text, first.value);
  append(
    talk,
    note(`Your answer does not have the required form:\n${first.message}\nAnswer again with the corrected JSON alone.`),
  );
  const repair = await ask(run, talk, `${self.path}/${self.step}/@repair`);
  if (!repair.ok) return fail(run, talk, repair);
  const calls = toolCallsOf(repair.value.content).length > 0;
  if (!calls && !isEmpty(repair.value)) append(talk, assistant(talk, repair.value));
  const repaired = textOf(repair.value.content);
  const second = calls
    ? ({ ok: false, message: 'a tool call instead of the output' } as const)
    : parseOutput(repaired, agent.output);
  if (second.ok) return end(talk, 'completed', undefined, repaired, second.value);
  return end(
    talk,
    'invalid_output',
    { kind: 'invalid_output', message: second.message, retryable: false },
    repaired || text,
  );
}

/** One extra call, outside `steps`, in which the agent says what it has. If it fails or calls a tool, the status stays. */
async function wrapUp(run: RunContext, talk: Talk, status: Status, cause: ErrorRecord): Promise<Ending> {
  if (!talk.agent.wrapUp) return end(talk, status, cause);
  const kept = talk.messages.length;
  append(talk, note(`${cause.message} No more tools can be called. Say now what you have found, and what is missing.`));
  const last = await ask(run, talk, `${talk.self.path}/${talk.self.step}/@wrapup`, 'none');
  if (!last.ok || isEmpty(last.value) || toolCallsOf(last.value.content).length > 0) {
    talk.messages.length = kept;
    return end(talk, status, cause);
  }
  append(talk, assistant(talk, last.value));
  return end(talk, status, cause);
}

function fail(run: RunContext, talk: Talk, { error, stop }: Failure, since?: bigint): Ending {
  if (since !== undefined) endStep(run, talk.self, since);
  if (stop !== undefined) return end(talk, stop.status, error);
  const limits: Partial<Record<string, Status>> = {
    context_limit: 'context_limit',
    token_limit: 'token_limit',
    cost_limit: 'cost_limit',
  };
  return end(talk, limits[error.kind] ?? 'model_error', error);
}

function end(
  talk: Talk,
  status: Status,
  error: ErrorRecord | undefined,
  text = talk.lastText,
  output?: unknown,
): Ending {
  const { self, messages } = talk;
  const facts = { self, status, text, messages: Object.freeze(messages), label: self.label };
  return error === undefined ? { ...facts, output } : { ...facts, error };
}

function append(talk: Talk, message: Message): void {
  talk.messages.push(message);
  if (message.label !== undefined) talk.self.label = joinLabels(talk.self.label, message.label);
  if (message.role === 'assistant') talk.lastText = textOf(message.content) || talk.lastText;
}

/** A model turn carries the join of its whole context. */
function assistant(talk: Talk, turn: ModelTurn): AssistantMessage {
  const message = { role: 'assistant', content: turn.content, label: talk.self.label } as const;
  const { provider } = talk.question.model;
  return Object.freeze(
    turn.native === undefined ? message : { ...message, native: Object.freeze({ provider, turn: turn.native }) },
  );
}

function note(content: string): UserMessage {
  return Object.freeze({ role: 'user', content, from: 'coxswain' });
}

function isEmpty(turn: ModelTurn): boolean {
  return (
    turn.stop !== 'paused' &&
    !turn.content.some((part) => part.type === 'tool_call' || (part.type === 'text' && part.text.trim() !== ''))
  );
}

interface Limit {
  readonly limit: 'steps' | 'toolCalls';
  readonly used: number;
  readonly max: number;
}

function stepLimit(run: RunContext, { step, limits }: Invocation): Limit | undefined {
  const max = limits.steps ?? DEFAULTS.steps;
  if (step >= max) return { limit: 'steps', used: step, max };
  const tree = run.limits.steps;
  return tree !== undefined && run.count.steps >= tree
    ? { limit: 'steps', used: run.count.steps, max: tree }
    : undefined;
}

/** All of a batch or none of it: before it enters the transcript. Each requested call counts, known or not. */
function admit(run: RunContext, { toolCalls, limits }: Invocation, requested: number): Limit | undefined {
  const max = limits.toolCalls ?? DEFAULTS.toolCalls;
  if (toolCalls + requested > max) return { limit: 'toolCalls', used: toolCalls + requested, max };
  const tree = run.limits.toolCalls;
  const used = run.count.toolCalls + requested;
  return tree !== undefined && used > tree ? { limit: 'toolCalls', used, max: tree } : undefined;
}

function limited(run: RunContext, self: Invocation, limit: Limit): ErrorRecord {
  const entry = {
    key: `${self.path}/${self.step}/@limit`,
    place: self,
    step: self.step,
    attempt: 1,
    span: self.span,
  } as const;
  run.journal.note({ ...entry, kind: 'limit', event: 'done', value: { ...limit } });
  const what = limit.limit === 'steps' ? 'The step limit' : 'The limit of tool calls';
  return {
    kind: limit.limit === 'steps' ? 'step_limit' : 'tool_limit',
    message: `${what} of ${limit.max} is reached.`,
    retryable: false,
  };
}

function stepEntry(self: Invocation, event: 'started') {
  const { path, step, span } = self;
  return { key: `${path}/${step}`, place: self, step, attempt: 1, span, kind: 'step', event } as const;
}

function endStep(run: RunContext, self: Invocation, since: bigint): void {
  run.journal.note({ ...stepEntry(self, 'started'), event: 'done', since });
}
