import type { AgentContext, ModelAgent } from './agent.ts';
import type { Ending } from './ending.ts';
import { isFatal, messageOf } from './errors.ts';
import type { Invocation } from './invocation.ts';
import { joinLabels, TRUSTED, UNTRUSTED } from './label.ts';
import { DEFAULTS } from './limits.ts';
import type { Message } from './message.ts';
import { outputLimit, type Question } from './model-call.ts';
import { Repeats } from './repeats.ts';
import type { RunContext, Selector } from './run-context.ts';
import type { Tool } from './tool.ts';
import { toolset } from './toolset.ts';

/** The state of one loop: an append-only transcript, and what stays the same from request to request. */
export interface Talk {
  readonly self: Invocation;
  readonly agent: ModelAgent;
  readonly messages: Message[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly repeats: Repeats;
  readonly selector: Selector;
  readonly question: Omit<Question, 'messages' | 'from' | 'inputTokens' | 'toolChoice'>;
  /** The newest text of the model in this invocation. */
  lastText: string;
}

/**
 * Functions of the definition (instructions, tools, a namespace) are decided here, once per invocation. What one throws is the
 * invocation's end, like what a procedure throws.
 */
export function openTalk(run: RunContext, self: Invocation, brief: readonly Message[]): Talk | Ending {
  try {
    return open(run, self, brief);
  } catch (thrown) {
    if (isFatal(thrown)) throw thrown;
    const error = { kind: 'unknown', message: messageOf(thrown), retryable: false };
    return { self, status: 'model_error', text: '', error, messages: brief, label: self.label };
  }
}

function open(run: RunContext, self: Invocation, brief: readonly Message[]): Talk {
  const agent = self.definition as ModelAgent;
  const model = run.modelOf(self, agent);
  const context = { deps: run.deps, shared: self.shared, path: self.path, runId: run.id } as AgentContext<never>;
  const instructions = typeof agent.instructions === 'function' ? agent.instructions(context) : agent.instructions;
  const own = typeof agent.tools === 'function' ? agent.tools(context) : agent.tools;
  const { byName, definitions, text } = toolset(run.toolsOf(self, own, agent));
  const output = agent.output && { name: agent.name, schema: agent.output.jsonSchema };
  const maxTokens = agent.context.maxTokens ?? model.limits?.contextTokens ?? DEFAULTS.contextTokens;
  const reserve = agent.settings.maxOutputTokens ?? outputLimit(model);
  const selector = run.selector({
    maxTokens,
    fixedTokens: run.estimate(instructions) + run.estimate(text),
    reserveTokens: Math.min(reserve, Math.floor(maxTokens / 4)),
  });
  for (const message of brief)
    self.label = joinLabels(self.label, message.label ?? (message.role === 'user' ? TRUSTED : UNTRUSTED));
  return {
    self,
    agent,
    messages: brief.slice(),
    tools: byName,
    repeats: new Repeats(self.limits.maxRepeatedCalls ?? DEFAULTS.maxRepeatedCalls, DEFAULTS.failuresInARow),
    selector,
    question: { model, instructions, tools: definitions, ...(output && { output }), settings: agent.settings },
    lastText: '',
  };
}
