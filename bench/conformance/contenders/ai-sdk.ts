import { z } from 'zod';
import type { AgentSpec, Contender, PlannedTurn, Team, ToolSpec } from '../team.ts';
import { versionOf } from '../version-of.ts';

/** What is used of it. Its own types need the DOM's and looser compiler options than this project's. */
interface Sdk {
  ToolLoopAgent: new (settings: {
    model: unknown;
    instructions: string;
    tools: { [name: string]: unknown };
    stopWhen?: unknown;
  }) => { generate(options: { prompt: string; abortSignal?: AbortSignal }): Promise<Result> };
  tool(options: object): unknown;
  isStepCount(steps: number): unknown;
  registerTelemetry(integration: unknown): void;
}
interface Result {
  readonly text: string;
  readonly totalUsage?: { readonly totalTokens?: number };
  readonly usage?: { readonly totalTokens?: number };
}
type Message = { readonly role: string };

const SDK: string = 'ai';
const OTEL: string = '@ai-sdk/otel';
const sdk: Sdk = await import(SDK);

/** Subagents as in its documentation: a tool whose `execute` calls another agent and returns its text. */
export const aiSdk: Contender = {
  name: 'AI SDK',
  version: versionOf('ai'),
  // A tool may need approval; a subagent's may not, by its documentation.
  has: { approval: 'needsApproval' },
  async trace() {
    const { OpenTelemetry }: { OpenTelemetry: new () => unknown } = await import(OTEL);
    sdk.registerTelemetry(new OpenTelemetry());
  },
  async run(team) {
    const { text, totalUsage, usage } = await agentOf(team.lead, team, team.bounds?.steps).generate({
      prompt: team.task,
    });
    const tokens = totalUsage?.totalTokens ?? usage?.totalTokens;
    return tokens === undefined ? { text } : { text, tokens };
  },
};

function agentOf(spec: AgentSpec, team: Team, steps?: number) {
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const own = tools.map((one): [string, unknown] => [one.name, toolOf(one)]);
  const delegates = workers.map((worker): [string, unknown] => [worker.name, workerOf(worker, team)]);
  return new sdk.ToolLoopAgent({
    model: modelOf(name, team.think),
    instructions,
    tools: Object.fromEntries([...own, ...delegates]),
    ...(steps !== undefined && { stopWhen: sdk.isStepCount(steps) }),
  });
}

function workerOf(worker: AgentSpec, team: Team): unknown {
  return sdk.tool({
    description: worker.name,
    inputSchema: z.object({ query: z.string() }),
    execute: async ({ query }: { query: string }, { abortSignal }: { abortSignal?: AbortSignal }) =>
      (await agentOf(worker, team).generate({ prompt: query, ...(abortSignal && { abortSignal }) })).text,
  });
}

function toolOf({ name, needsApproval, execute }: ToolSpec): unknown {
  return sdk.tool({
    description: name,
    inputSchema: z.object({ query: z.string() }),
    ...(needsApproval && { needsApproval: true }),
    execute: ({ query }: { query: string }) => execute(query),
  });
}

function modelOf(agent: string, think: Team['think']): object {
  return {
    specificationVersion: 'v4',
    provider: 'conformance',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }: { prompt: readonly Message[] }) {
      const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
      return turnOf(await think({ agent, text: JSON.stringify(prompt), turn }));
    },
    doStream: () => Promise.reject(new Error('not used')),
  };
}

let made = 0;

function turnOf(said: PlannedTurn): object {
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage = {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
  if ('text' in said) {
    const content = [{ type: 'text', text: said.text }];
    return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
  }
  const content = said.calls.map(({ to, query, raw }) => {
    made += 1;
    return { type: 'tool-call', toolCallId: `c${made}`, toolName: to, input: raw ?? JSON.stringify({ query }) };
  });
  return { content, finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] };
}
