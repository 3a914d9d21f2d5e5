import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { AgentSpec, Contender, PlannedTurn, Ran, Team, ToolSpec } from '../team.ts';
import { versionOf } from '../version-of.ts';

/** What is used of it. */
interface SdkAgent {
  generate(input: unknown, options?: object): Promise<Result>;
  approveToolCallGenerate(options: object): Promise<Result>;
  declineToolCallGenerate(options: object): Promise<Result>;
}
interface DurableAgent {
  stream(input: unknown, options?: object): Promise<{ readonly output: { readonly text: Promise<string> } }>;
  recoverActiveRuns(): Promise<{ readonly recovered: number; readonly succeeded: number }>;
}
interface Result {
  readonly text: string;
  readonly runId: string;
  readonly finishReason?: string;
  readonly totalUsage?: { readonly totalTokens?: number };
  readonly usage?: { readonly totalTokens?: number };
  readonly suspendPayload?: { readonly toolCallId: string; readonly toolName: string };
}

const [AGENT, DURABLE, TOOLS, MASTRA, STORAGE, LIBSQL, OBSERVE, BRIDGE]: readonly string[] = [
  '@mastra/core/agent',
  '@mastra/core/agent/durable',
  '@mastra/core/tools',
  '@mastra/core/mastra',
  '@mastra/core/storage',
  '@mastra/libsql',
  '@mastra/observability',
  '@mastra/otel-bridge',
];
const { Agent }: { Agent: new (config: object) => SdkAgent } = await import(AGENT ?? '');
const { createTool }: { createTool(options: object): unknown } = await import(TOOLS ?? '');
const { Mastra }: { Mastra: new (config: object) => unknown } = await import(MASTRA ?? '');
const { InMemoryStore }: { InMemoryStore: new () => unknown } = await import(STORAGE ?? '');

/** Set by `trace`. */
let observability: unknown;

/** Subagents by the `agents` of an agent; approvals by `requireApproval`; kept runs by its durable agents and SQLite. */
export const mastra: Contender = {
  name: 'Mastra',
  version: versionOf('@mastra/core'),
  has: { approval: 'requireApproval' },
  async trace() {
    const { Observability }: { Observability: new (options: object) => unknown } = await import(OBSERVE ?? '');
    const { OtelBridge }: { OtelBridge: new () => unknown } = await import(BRIDGE ?? '');
    observability = new Observability({ configs: { default: { serviceName: 'mastra', bridge: new OtelBridge() } } });
  },
  async run(team) {
    const lead = agentOf(team.lead, team, new Map());
    const more = observability === undefined ? {} : { observability };
    new Mastra({ agents: { [team.lead.name]: lead }, storage: new InMemoryStore(), logger: false, ...more });
    const { steps } = team.bounds ?? {};
    let result = await lead.generate(team.task, steps === undefined ? {} : { maxSteps: steps });
    while (result.finishReason === 'suspended' && result.suspendPayload !== undefined) {
      const { toolCallId, toolName } = result.suspendPayload;
      const yes = await team.approve?.(toolName);
      const about = { runId: result.runId, toolCallId };
      result = yes ? await lead.approveToolCallGenerate(about) : await lead.declineToolCallGenerate(about);
    }
    return ranOf(result);
  },
  async runDurable(team, folder) {
    const { createDurableAgent }: { createDurableAgent(options: object): DurableAgent } = await import(DURABLE ?? '');
    const { LibSQLStore }: { LibSQLStore: new (options: object) => unknown } = await import(LIBSQL ?? '');
    const storage = new LibSQLStore({ id: 'kept', url: `file:${join(folder, 'mastra.db')}` });
    const durable = createDurableAgent({ agent: agentOf(team.lead, team, new Map()) });
    new Mastra({ agents: { lead: durable }, storage, recovery: { durableAgents: 'auto' }, logger: false });
    const mark = join(folder, 'begun');
    if (!existsSync(mark)) {
      writeFileSync(mark, '');
      const { output } = await durable.stream(team.task);
      return { text: await output.text };
    }
    const { recovered, succeeded } = await durable.recoverActiveRuns();
    if (recovered === 0 || succeeded < recovered)
      throw new Error(`recovered ${recovered} runs, ${succeeded} of them ok`);
    return { text: '' };
  },
};

function ranOf({ text, totalUsage, usage }: Result): Ran {
  const tokens = totalUsage?.totalTokens ?? usage?.totalTokens;
  return tokens === undefined ? { text } : { text, tokens };
}

function agentOf(spec: AgentSpec, team: Team, made: Map<AgentSpec, SdkAgent>): SdkAgent {
  const known = made.get(spec);
  if (known !== undefined) return known;
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const agents = () => Object.fromEntries(workers.map((worker) => [worker.name, agentOf(worker, team, made)]));
  const own = Object.fromEntries(tools.map((one) => [one.name, toolOf(one)]));
  const workerNames = workers.map((worker) => worker.name);
  const model = modelOf(name, team.think, workerNames);
  const agent = new Agent({
    id: name,
    name,
    description: name,
    instructions,
    model,
    tools: own,
    agents,
    maxRetries: 0,
  });
  made.set(spec, agent);
  return agent;
}

function toolOf({ name, needsApproval, execute }: ToolSpec): unknown {
  return createTool({
    id: name,
    description: name,
    inputSchema: z.object({ query: z.string() }),
    ...(needsApproval && { requireApproval: true }),
    execute: async (input: { query?: unknown }) => execute(input?.query),
  });
}

function modelOf(agent: string, think: Team['think'], workers: readonly string[]): object {
  const answer = async (prompt: readonly { readonly role: string }[]) => {
    const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
    return partsOf(
      await think({ agent, text: JSON.stringify(prompt.filter(({ role }) => role !== 'system')), turn }),
      workers,
    );
  };
  return {
    specificationVersion: 'v2',
    provider: 'conformance',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }: { prompt: readonly { readonly role: string }[] }) {
      return { ...(await answer(prompt)), warnings: [] };
    },
    async doStream({ prompt }: { prompt: readonly { readonly role: string }[] }) {
      const { content, finishReason, usage } = await answer(prompt);
      return { stream: streamOf(content, finishReason, usage) };
    },
  };
}

type Content = { readonly type: string; readonly text?: string };

function streamOf(content: readonly Content[], finishReason: string, usage: object): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'stream-start', warnings: [] });
      for (const part of content) {
        if (part.type !== 'text') controller.enqueue(part);
        else {
          controller.enqueue({ type: 'text-start', id: 't' });
          controller.enqueue({ type: 'text-delta', id: 't', delta: part.text });
          controller.enqueue({ type: 'text-end', id: 't' });
        }
      }
      controller.enqueue({ type: 'finish', finishReason, usage });
      controller.close();
    },
  });
}

let made = 0;

function partsOf(said: PlannedTurn, workers: readonly string[]) {
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage = { inputTokens: input, outputTokens: output, totalTokens: input + output };
  if ('text' in said) return { content: [{ type: 'text', text: said.text }], finishReason: 'stop', usage };
  const content = said.calls.map(({ to, query, raw }) => {
    made += 1;
    const isWorker = workers.includes(to);
    const args = raw ?? JSON.stringify(isWorker ? { prompt: query } : { query });
    return { type: 'tool-call', toolCallId: `c${made}`, toolName: isWorker ? `agent-${to}` : to, input: args };
  });
  return { content, finishReason: 'tool-calls', usage };
}
