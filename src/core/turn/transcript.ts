import type { AgentContext, ModelAgent } from '../contract/agent.ts';
import type { Tool } from '../contract/tool.ts';
import type { InitialMessages } from '../runtime/initial-messages.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Selector, Sendable } from '../runtime/selector.ts';
import { TruncatedResults } from '../runtime/truncated-results.ts';
import { DivergenceError } from '../values/errors.ts';
import { joinLabels, TRUSTED, UNTRUSTED } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import { type AssistantMessage, type Message, textOf, type UserMessage } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { candidatesOf, outputLimit } from '../values/model-facts.ts';
import { type Redact, redactMessage } from '../values/redact-message.ts';
import { type Compacting, compactingOf } from './compact.ts';
import type { Conversation } from './conversation.ts';
import type { Handoff } from './handoff.ts';
import { MessageChain } from './message-chain.ts';
import type { Question } from './question.ts';
import { Repeats } from './repeats.ts';
import { toolset } from './toolset.ts';

const isTranscript = Symbol('transcript');

/** The state of one loop: an append-only transcript, and what stays the same from request to request. */
export interface Transcript {
  readonly [isTranscript]: true;
  readonly self: Invocation;
  readonly agent: ModelAgent;
  readonly messages: Message[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly repeats: Repeats;
  readonly selector: Selector;
  /** Undefined where what does not fit is dropped. */
  readonly compacting: Compacting | undefined;
  /** Undefined where the invocation begins anew and leaves nothing behind. */
  readonly conversation: Conversation | undefined;
  readonly question: Question;
  /** Who takes the conversation over after this turn, or has. */
  handoff: Handoff | undefined;
  /** What its last request held of the transcript. */
  sent: Sendable | undefined;
  /** The newest text of the model in this invocation. */
  lastText: string;
  /** What an answer under way has said in pieces that were cut. */
  truncatedText: string;
  /** The model version that the provider reported last. */
  version: string | undefined;
  /** Of the run: what the model may not be told. */
  readonly redact: Redact | undefined;
}

/** Functions of the definition are decided here, once per invocation. */
export function openTranscript(run: RunContext, self: Invocation, { brief, known }: InitialMessages): Transcript {
  const agent = self.definition as ModelAgent;
  const model = run.models.of(self, agent);
  const context = { deps: run.deps, shared: self.shared, path: self.path, runId: run.id } as AgentContext<never>;
  // What functions of the definition gave is recorded: a resume gets the same.
  const given = agent.instructions;
  const written =
    typeof given === 'function' ? run.journal.once(`${self.path}/@instructions`, self, () => given(context)) : given;
  const { redact } = run;
  const instructions = redact === undefined ? written : redact(written);
  const own = typeof agent.tools === 'function' ? sameTools(run, self, agent.tools(context)) : agent.tools;
  const { byName, definitions, text } = toolset(run.tools.of(self, own, agent));
  const output = agent.output && Object.freeze({ name: agent.name, schema: agent.output.jsonSchema });
  const { settings } = agent;
  const question = { model, instructions, tools: definitions, output, settings, chain: new MessageChain() };
  for (const candidate of candidatesOf(model)) {
    candidate.check?.({ instructions, messages: [], tools: definitions, ...(output && { output }), settings });
  }
  const maxTokens = agent.context.maxTokens ?? run.models.contextTokens(model) ?? DEFAULTS.contextTokens;
  const compacting = compactingOf(run, agent, question, maxTokens);
  const reserve = agent.settings.maxOutputTokens ?? outputLimit(model);
  const selector = run.context.selector({
    maxTokens,
    fixedTokens: run.context.estimate(instructions) + run.context.estimate(text),
    reserveTokens: Math.min(reserve, Math.floor(maxTokens / 4)),
    compacts: compacting !== undefined,
    measured: known?.bound === undefined ? undefined : { count: known.messages.length, bound: known.bound },
  });
  if (known !== undefined) self.label = joinLabels(self.label, known.label);
  for (let index = known?.messages.length ?? 0; index < brief.length; index += 1) {
    const message = brief[index];
    if (message !== undefined)
      self.label = joinLabels(self.label, message.label ?? (message.role === 'user' ? TRUSTED : UNTRUSTED));
  }
  const messages = redact === undefined ? brief.slice() : brief.map((message) => redactMessage(message, redact));
  if (agent.readResult && byName.has('read_result')) self.truncatedResults = new TruncatedResults(messages);
  const transcript: Transcript = {
    [isTranscript]: true,
    self,
    agent,
    messages,
    tools: byName,
    repeats: new Repeats(self.limits.maxRepeatedCalls ?? DEFAULTS.maxRepeatedCalls, DEFAULTS.failuresInARow),
    selector,
    compacting,
    conversation: conversationOf(run, self, agent, context),
    question,
    handoff: undefined,
    sent: undefined,
    lastText: '',
    truncatedText: '',
    version: undefined,
    redact,
  };
  self.transcript = transcript;
  return transcript;
}

/** The transcript of an invocation that a model drives, while it runs. */
export function transcriptOf({ transcript }: Invocation): Transcript | undefined {
  return isOpened(transcript) ? transcript : undefined;
}

function isOpened(transcript: object | undefined): transcript is Transcript {
  return transcript !== undefined && isTranscript in transcript;
}

/** Its id is decided once. */
function conversationOf(
  run: RunContext,
  self: Invocation,
  agent: ModelAgent,
  context: AgentContext<never>,
): Conversation | undefined {
  const given = agent.context.conversation;
  if (given === undefined) return undefined;
  const { store, id } = given;
  if (typeof id === 'string') return { store, id };
  const decided = run.journal.once(`${self.path}/@conversation.id`, self, () => id(context));
  if (typeof decided !== 'string' || decided === '')
    throw new Error(`context.conversation.id gave no text for ${self.agent}`);
  return { store, id: decided };
}

/** What gives tools must give the same at a resume: their names and hashes are recorded. */
function sameTools(run: RunContext, self: Invocation, tools: readonly Tool[]): readonly Tool[] {
  if (!run.journal.isDurable) return tools;
  const key = `${self.path}/@tools`;
  const now = Array.isArray(tools) ? tools.map((tool: Tool) => `${tool?.name} ${tool?.hash}`) : [];
  const then = run.journal.once(key, self, () => now);
  if (then.length === now.length && then.every((one, index) => one === now[index])) return tools;
  const names = now.filter((one) => !then.includes(one)).concat(then.filter((one) => !now.includes(one)));
  const said = [...new Set(names.map((one) => one.split(' ')[0]))].join(', ') || 'their order';
  const message = `${key}: the function of ${self.agent} gave other tools than recorded (${said}). It must give the same at a resume: let it depend on deps and shared alone.`;
  const side = (list: readonly string[]) => list.map((one) => one.split(' ')[0]).join(', ') || 'none';
  throw new DivergenceError(key, ['tools'], message, [{ part: 'tools', recorded: side(then), now: side(now) }]);
}

/** Gives the message as it stands in the transcript. */
export function append(transcript: Transcript, given: Message): Message {
  // What the model said is its own: it was told no more than it may know.
  const message = given.role === 'assistant' ? given : redactMessage(given, transcript.redact);
  transcript.messages.push(message);
  if (message.label !== undefined) transcript.self.label = joinLabels(transcript.self.label, message.label);
  if (message.role === 'assistant')
    transcript.lastText = transcript.truncatedText + textOf(message.content) || transcript.lastText;
  return message;
}

/** A model turn carries the join of its whole context. */
export function assistant(transcript: Transcript, turn: ModelTurn): AssistantMessage {
  const message = { role: 'assistant', content: turn.content, label: transcript.self.label } as const;
  const { provider } = turn.by ?? transcript.question.model;
  return Object.freeze(
    turn.native === undefined ? message : { ...message, native: Object.freeze({ provider, turn: turn.native }) },
  );
}

/** What the loop itself tells the model. */
export function note(content: string): UserMessage {
  return Object.freeze({ role: 'user', content, from: 'coxswain' });
}
