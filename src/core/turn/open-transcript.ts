import type { AgentContext, ModelAgent } from '../contract/agent.ts';
import type { Tool } from '../contract/tool.ts';
import type { InitialMessages } from '../runtime/initial-messages.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { TruncatedResults } from '../runtime/truncated-results.ts';
import { DivergenceError } from '../values/errors.ts';
import { joinLabels } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import { labelOf } from '../values/message.ts';
import { candidatesOf, outputLimit } from '../values/model.ts';
import { redactMessage } from '../values/redact-message.ts';
import { compactingOf } from './compact.ts';
import type { Conversation } from './conversation.ts';
import { MessageChain } from './message-chain.ts';
import { Repeats } from './repeats.ts';
import { toolset } from './toolset.ts';
import { Transcript } from './transcript.ts';

/** Functions of the definition are decided here, once per invocation. */
export function openTranscript(run: RunContext, self: Invocation, { brief, cached }: InitialMessages): Transcript {
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
    measured: cached?.bound === undefined ? undefined : { count: cached.messages.length, bound: cached.bound },
  });
  if (cached !== undefined) self.label = joinLabels(self.label, cached.label);
  for (let index = cached?.messages.length ?? 0; index < brief.length; index += 1) {
    const message = brief[index];
    if (message !== undefined) self.label = joinLabels(self.label, labelOf(message));
  }
  const messages = redact === undefined ? brief.slice() : brief.map((message) => redactMessage(message, redact));
  if (agent.readResult && byName.has('read_result')) self.truncatedResults = new TruncatedResults(messages);
  const transcript = new Transcript({
    self,
    agent,
    messages,
    tools: byName,
    repeats: new Repeats(self.limits.maxRepeatedCalls ?? DEFAULTS.maxRepeatedCalls, DEFAULTS.failuresInARow),
    selector,
    compacting,
    conversation: conversationOf(run, self, agent, context),
    question,
    redact,
  });
  self.transcript = transcript;
  return transcript;
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
  const changed = [...new Set(names.map((one) => one.split(' ')[0]))].join(', ') || 'their order';
  const message = `${key}: the function of ${self.agent} gave other tools than recorded (${changed}). It must give the same at a resume: let it depend on deps and shared alone.`;
  const side = (list: readonly string[]) => list.map((one) => one.split(' ')[0]).join(', ') || 'none';
  throw new DivergenceError(key, ['tools'], message, [{ part: 'tools', recorded: side(then), now: side(now) }]);
}
