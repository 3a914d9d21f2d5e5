import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { z } from 'zod';
import type { AgentSpec, Contender, Observed, PlannedTurn, Ran, Team, ToolSpec } from '../team.ts';
import { versionOf } from '../version-of.ts';

/** What is used of it. */
interface DeepAgents {
  createDeepAgent(options: object): Runnable;
}
interface Runnable {
  invoke(input: unknown, config?: object): Promise<State>;
  getState(config: object): Promise<{ readonly next: readonly string[]; readonly values: State }>;
}
interface State {
  readonly messages?: readonly {
    readonly content: unknown;
    readonly usage_metadata?: { readonly total_tokens: number };
  }[];
  readonly __interrupt__?: readonly {
    readonly value: { readonly actionRequests: readonly { readonly name: string }[] };
  }[];
}
interface Saver {
  storage: object;
  writes: object;
  put(...args: unknown[]): Promise<unknown>;
  putWrites(...args: unknown[]): Promise<unknown>;
}

const [DEEP, CHAT, MESSAGES, GRAPH, TOOLS, AGENTS]: readonly string[] = [
  'deepagents',
  '@langchain/core/language_models/chat_models',
  '@langchain/core/messages',
  '@langchain/langgraph',
  '@langchain/core/tools',
  'langchain',
];
const { createDeepAgent }: DeepAgents = await import(DEEP ?? '');
const { BaseChatModel }: { BaseChatModel: abstract new (fields: object) => object } = await import(CHAT ?? '');
const { AIMessage }: { AIMessage: new (fields: object) => object } = await import(MESSAGES ?? '');
const { Command, MemorySaver }: { Command: new (fields: object) => object; MemorySaver: new () => Saver } =
  await import(GRAPH ?? '');
const { tool }: { tool(execute: unknown, options: object): unknown } = await import(TOOLS ?? '');
const { modelCallLimitMiddleware }: { modelCallLimitMiddleware(options: object): unknown } = await import(AGENTS ?? '');

/** Deep agents: subagents by its `task` tool, deeper ones as compiled agents; approvals by `interruptOn` and a checkpointer. */
export const langgraph: Contender = {
  name: 'LangGraph',
  version: `${versionOf('@langchain/langgraph')}, deepagents ${versionOf('deepagents')}`,
  has: { concurrency: 'config.maxConcurrency', approval: 'interruptOn' },
  run: (team) => run(team, new MemorySaver()),
  async runDurable(team, folder) {
    const file = join(folder, 'checkpoints');
    return run(team, fileSaver(file), existsSync(file));
  },
};

async function run(team: Team, checkpointer: Saver, goesOn = false): Promise<Ran> {
  const { steps, concurrency } = team.bounds ?? {};
  const middleware = steps === undefined ? [] : [modelCallLimitMiddleware({ runLimit: steps, exitBehavior: 'end' })];
  const lead = agentOf(team.lead, team, { checkpointer, middleware });
  const config = {
    configurable: { thread_id: 'one' },
    ...(concurrency !== undefined && { maxConcurrency: concurrency }),
  };
  let state = await lead.invoke(goesOn ? null : { messages: [{ role: 'user', content: team.task }] }, config);
  while ((state.__interrupt__ ?? []).length > 0) {
    const decisions = [];
    for (const { value } of state.__interrupt__ ?? []) {
      for (const { name } of value.actionRequests)
        decisions.push({ type: (await team.approve?.(name)) ? 'approve' : 'reject' });
    }
    state = await lead.invoke(new Command({ resume: { decisions } }), config);
  }
  const messages = state.messages ?? [];
  const tokens = messages.reduce((sum, { usage_metadata: usage }) => sum + (usage?.total_tokens ?? 0), 0);
  return { text: String(messages.at(-1)?.content ?? ''), tokens };
}

function agentOf(spec: AgentSpec, team: Team, more: object = {}, above: readonly AgentSpec[] = []): Runnable {
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const here = [...above, spec];
  const asked = tools.filter(({ needsApproval }) => needsApproval).map((one): [string, boolean] => [one.name, true]);
  const subagents = workers.map((worker) => ({
    name: worker.name,
    description: worker.name,
    // Built when it is called where it is one above: so two agents have each other.
    runnable: here.includes(worker) ? lazy(() => agentOf(worker, team)) : agentOf(worker, team, {}, here),
  }));
  return createDeepAgent({
    name,
    model: modelOf(name, team.think),
    systemPrompt: instructions,
    tools: tools.map(toolOf),
    subagents,
    ...(asked.length > 0 && { interruptOn: Object.fromEntries(asked) }),
    ...more,
  });
}

function lazy(make: () => Runnable): object {
  return { invoke: (input: unknown, config: object) => make().invoke(input, config) };
}

function toolOf({ name, execute }: ToolSpec): unknown {
  const schema = z.object({ query: z.string() });
  return tool(({ query }: { query: string }) => execute(query), { name, description: name, schema });
}

/** Keeps what the saver in memory keeps in a file as well, after each write. */
function fileSaver(file: string): Saver {
  const saver = new MemorySaver();
  if (existsSync(file)) Object.assign(saver, deserialize(readFileSync(file)) as object);
  const keep = () => writeFileSync(file, serialize({ storage: saver.storage, writes: saver.writes }));
  const [put, putWrites] = [saver.put.bind(saver), saver.putWrites.bind(saver)];
  saver.put = async (...args) => {
    const result = await put(...args);
    keep();
    return result;
  };
  saver.putWrites = async (...args) => {
    const result = await putWrites(...args);
    keep();
    return result;
  };
  return saver;
}

interface Message {
  getType(): string;
  readonly content: unknown;
  readonly tool_calls?: unknown;
}

function modelOf(agent: string, think: Team['think']): object {
  class Scripted extends BaseChatModel {
    constructor() {
      super({ maxRetries: 0 });
    }
    _llmType(): string {
      return 'scripted';
    }
    bindTools(): this {
      return this;
    }
    async _generate(messages: readonly Message[]): Promise<object> {
      const said = messages.map((one) => ({ type: one.getType(), content: one.content, calls: one.tool_calls }));
      const turn = said.filter(({ type }) => type === 'ai').length + 1;
      const seen: Observed = { agent, text: JSON.stringify(said.filter(({ type }) => type !== 'system')), turn };
      const message = turnOf(await think(seen));
      return { generations: [{ text: '', message }] };
    }
  }
  return new Scripted();
}

let made = 0;

function turnOf(said: PlannedTurn): object {
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage_metadata = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  if ('text' in said) return new AIMessage({ content: said.text, usage_metadata });
  const tool_calls: object[] = [];
  const invalid_tool_calls: object[] = [];
  for (const { to, query, raw } of said.calls) {
    made += 1;
    const id = `c${made}`;
    const isTask = raw === undefined && query !== undefined && !OWN.has(to);
    if (isTask)
      tool_calls.push({ id, name: 'task', args: { description: query, subagent_type: to }, type: 'tool_call' });
    else {
      const args = parsed(raw ?? JSON.stringify({ query }));
      // What a provider's integration does with arguments that are no JSON.
      if (args === undefined)
        invalid_tool_calls.push({ id, name: to, args: raw, error: 'Malformed args.', type: 'invalid_tool_call' });
      else tool_calls.push({ id, name: to, args, type: 'tool_call' });
    }
  }
  return new AIMessage({ content: '', tool_calls, invalid_tool_calls, usage_metadata });
}

/** Names of tools in the rows; what else is called is an agent. */
const OWN: ReadonlySet<string> = new Set(['look', 'work', 'spend', 'slow', 'pay']);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
