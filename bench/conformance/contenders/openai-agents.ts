import { z } from 'zod';
import type { AgentSpec, Contender, PlannedTurn, Team, ToolSpec } from '../team.ts';
import { versionOf } from '../version-of.ts';

/** What is used of it. */
interface Sdk {
  Agent: new (options: object) => SdkAgent;
  Usage: new (usage: object) => unknown;
  tool(options: object): unknown;
  run(agent: SdkAgent, input: unknown, options?: object): Promise<Result>;
  setTracingDisabled(disabled: boolean): void;
}
interface SdkAgent {
  asTool(options: object): unknown;
}
interface Result {
  readonly finalOutput?: unknown;
  readonly interruptions?: readonly { readonly rawItem?: { readonly name?: string }; readonly name?: string }[];
  readonly state: {
    readonly usage?: { readonly totalTokens: number };
    approve(item: unknown): void;
    reject(item: unknown): void;
  };
  readonly runContext?: { readonly usage: { readonly totalTokens: number } };
}
interface Request {
  readonly input: string | readonly { readonly type?: string; readonly role?: string }[];
}

const SDK: string = '@openai/agents';
const sdk: Sdk = await import(SDK);
// Its own tracing would send to its own service.
sdk.setTracingDisabled(true);

/** Agents as tools, by `agent.asTool`; approvals by its interruptions. */
export const openaiAgents: Contender = {
  name: 'OpenAI Agents',
  version: versionOf('@openai/agents'),
  has: { concurrency: 'toolExecution.maxFunctionToolConcurrency', approval: 'needsApproval' },
  async run(team) {
    const lead = agentOf(team.lead, team, new Map());
    const options = optionsOf(team);
    let result = await sdk.run(lead, team.task, options);
    while ((result.interruptions ?? []).length > 0) {
      for (const item of result.interruptions ?? []) {
        const yes = await team.approve?.(item.rawItem?.name ?? item.name ?? '');
        if (yes) result.state.approve(item);
        else result.state.reject(item);
      }
      result = await sdk.run(lead, result.state, options);
    }
    const tokens = (result.runContext?.usage ?? result.state.usage)?.totalTokens;
    return { text: String(result.finalOutput ?? ''), ...(tokens !== undefined && { tokens }) };
  },
};

function optionsOf({ bounds = {} }: Team): object {
  const { steps, concurrency } = bounds;
  return {
    ...(steps !== undefined && { maxTurns: steps }),
    ...(concurrency !== undefined && { toolExecution: { maxFunctionToolConcurrency: concurrency } }),
  };
}

function agentOf(spec: AgentSpec, team: Team, made: Map<AgentSpec, SdkAgent & { tools?: unknown[] }>): SdkAgent {
  const known = made.get(spec);
  if (known !== undefined) return known;
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const own: unknown[] = tools.map(toolOf);
  const agent = new sdk.Agent({
    name,
    instructions,
    model: modelOf(
      name,
      team.think,
      workers.map((worker) => worker.name),
    ),
    tools: own,
  });
  made.set(spec, agent);
  // Filled afterwards, as a program does in which two agents have each other.
  for (const worker of workers) {
    const options = { toolName: worker.name, toolDescription: worker.name, runConfig: { tracingDisabled: true } };
    own.push(agentOf(worker, team, made).asTool(options));
  }
  return agent;
}

function toolOf({ name, needsApproval, execute }: ToolSpec): unknown {
  return sdk.tool({
    name,
    description: name,
    parameters: z.object({ query: z.string() }),
    ...(needsApproval && { needsApproval: true }),
    execute: (input: { query?: unknown }) => execute(input.query),
  });
}

function modelOf(agent: string, think: Team['think'], workers: readonly string[]): object {
  return {
    async getResponse({ input }: Request) {
      const items = typeof input === 'string' ? [] : input;
      // A turn is one message of the assistant, or consecutive calls.
      const said = items.filter(({ type, role }) => type === 'function_call' || role === 'assistant');
      const turn = turnsOf(items, said) + 1;
      return turnOf(await think({ agent, text: JSON.stringify(input), turn }), (to) => workers.includes(to));
    },
    getStreamedResponse: () => {
      throw new Error('not used');
    },
  };
}

function turnsOf(
  items: readonly { readonly type?: string; readonly role?: string }[],
  said: readonly object[],
): number {
  let turns = 0;
  items.forEach((item, at) => {
    const before = items[at - 1];
    if (said.includes(item) && (before === undefined || !said.includes(before))) turns += 1;
  });
  return turns;
}

let made = 0;

function turnOf(said: PlannedTurn, isWorker: (name: string) => boolean): object {
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage = new sdk.Usage({ requests: 1, inputTokens: input, outputTokens: output, totalTokens: input + output });
  if ('text' in said) {
    const content = [{ type: 'output_text', text: said.text }];
    return { usage, output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
  }
  const calls = said.calls.map(({ to, query, raw }) => {
    made += 1;
    const call = { type: 'function_call', callId: `c${made}`, name: to, status: 'completed' };
    return { ...call, arguments: raw ?? JSON.stringify(isWorker(to) ? { input: query } : { query }) };
  });
  return { usage, output: calls };
}
