import { join } from 'node:path';
import { z } from 'zod';
import type { AgentSpec, Contender, Observed, PlannedTurn, Ran, Team, ToolSpec } from '../team.ts';
import { versionOf } from '../version-of.ts';

/** What is used of it. */
interface Sdk {
  Agent: new (config: object) => SdkAgent;
  Model: abstract new () => object;
  tool(options: object): unknown;
  SessionManager: new (options: object) => unknown;
  FileStorage: new (folder: string) => unknown;
}
interface SdkAgent {
  readonly messages: readonly unknown[];
  invoke(input: unknown, options?: object): Promise<Result>;
}
interface Result {
  readonly stopReason: string;
  readonly lastMessage?: { readonly content: readonly { readonly text?: string }[] };
  readonly metrics?: { readonly accumulatedUsage?: { readonly totalTokens: number } };
  readonly interrupts?: readonly { readonly id: string; readonly name: string }[];
}
interface Context {
  interrupt(params: { name: string; reason?: string }): unknown;
}

const SDK: string = '@strands-agents/sdk';
const sdk: Sdk = await import(SDK);

/** Agents among an agent's tools; a tool that asks by `context.interrupt`; sessions in files. */
export const strands: Contender = {
  name: 'Strands',
  version: versionOf('@strands-agents/sdk'),
  has: { tokens: 'limits.totalTokens', approval: 'interrupt' },
  run: (team) => run(team, agentOf(team.lead, team, new Map())),
  runDurable(team, folder) {
    const storage = { snapshot: new sdk.FileStorage(join(folder, 'sessions')) };
    const sessionManager = new sdk.SessionManager({ sessionId: 'kept', storage, saveLatestOn: 'message' });
    return run(team, agentOf(team.lead, team, new Map(), { sessionManager, id: 'lead' }));
  },
};

async function run(team: Team, lead: SdkAgent): Promise<Ran> {
  const { steps, tokens } = team.bounds ?? {};
  const limits = { ...(steps !== undefined && { turns: steps }), ...(tokens !== undefined && { totalTokens: tokens }) };
  const options = Object.keys(limits).length === 0 ? {} : { limits };
  let result = await lead.invoke(team.task, options);
  while (result.stopReason === 'interrupt') {
    const answers = [];
    for (const { id, name } of result.interrupts ?? []) {
      const response = (await team.approve?.(name)) ? 'yes' : 'no';
      answers.push({ interruptResponse: { interruptId: id, response } });
    }
    if (answers.length === 0) break;
    result = await lead.invoke(answers, options);
  }
  const text = (result.lastMessage?.content ?? []).map((block) => block.text ?? '').join('');
  const total = result.metrics?.accumulatedUsage?.totalTokens;
  return { text, status: result.stopReason, ...(total !== undefined && { tokens: total }) };
}

function agentOf(spec: AgentSpec, team: Team, made: Map<AgentSpec, SdkAgent>, more: object = {}): SdkAgent {
  const known = made.get(spec);
  if (known !== undefined) return known;
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const own: unknown[] = tools.map(toolOf);
  const workerNames = workers.map((worker) => worker.name);
  const facts = { name, description: name, systemPrompt: instructions, printer: false };
  // An agent's tools are fixed when it is made: in a cycle the one above stands for itself by a tool that calls it.
  const placeholder: { agent?: SdkAgent } = {};
  made.set(spec, {
    messages: [],
    invoke: (input, options) => placeholder.agent?.invoke(input, options) ?? Promise.reject(),
  });
  for (const worker of workers) {
    const isAbove = made.has(worker);
    const agent = agentOf(worker, team, made);
    own.push(isAbove ? callingTool(worker.name, agent) : agent);
  }
  const model = modelOf(name, team.think, workerNames);
  const agent = new sdk.Agent({ ...facts, ...more, model, tools: own });
  placeholder.agent = agent;
  made.set(spec, agent);
  return agent;
}

function callingTool(name: string, agent: SdkAgent): unknown {
  return sdk.tool({
    name,
    description: name,
    inputSchema: z.object({ input: z.string() }),
    callback: async ({ input }: { input: string }) => String((await agent.invoke(input)).stopReason),
  });
}

function toolOf({ name, needsApproval, execute }: ToolSpec): unknown {
  return sdk.tool({
    name,
    description: name,
    inputSchema: z.object({ query: z.string() }),
    callback: ({ query }: { query: string }, context: Context) => {
      if (needsApproval && context.interrupt({ name }) !== 'yes') return 'not approved';
      return execute(query);
    },
  });
}

function modelOf(agent: string, think: Team['think'], workers: readonly string[]): object {
  class Scripted extends sdk.Model {
    updateConfig(): void {}
    getConfig(): object {
      return { modelId: 'scripted' };
    }
    async *stream(messages: readonly { readonly role: string }[]): AsyncIterable<object> {
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
      const seen: Observed = { agent, text: JSON.stringify(messages), turn };
      yield* eventsOf(await think(seen), workers);
    }
  }
  return new Scripted();
}

let made = 0;

function* eventsOf(said: PlannedTurn, workers: readonly string[]): Iterable<object> {
  yield { type: 'modelMessageStartEvent', role: 'assistant' };
  if ('text' in said) {
    yield { type: 'modelContentBlockStartEvent' };
    yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: said.text } };
    yield { type: 'modelContentBlockStopEvent' };
  } else {
    for (const { to, query, raw } of said.calls) {
      made += 1;
      const input = raw ?? JSON.stringify(workers.includes(to) ? { input: query } : { query });
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name: to, toolUseId: `c${made}` } };
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input } };
      yield { type: 'modelContentBlockStopEvent' };
    }
  }
  yield { type: 'modelMessageStopEvent', stopReason: 'text' in said ? 'endTurn' : 'toolUse' };
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage = { inputTokens: input, outputTokens: output, totalTokens: input + output };
  yield { type: 'modelMetadataEvent', usage };
}
