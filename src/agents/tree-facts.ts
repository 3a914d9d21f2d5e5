import type { Agent } from '../core/contract/agent.ts';
import type { Tool } from '../core/contract/tool.ts';
import type { ToolSource } from '../core/contract/tool-source.ts';
import { ConfigurationError } from '../core/values/errors.ts';

/** The facts of an agent's tree that are known before it runs. */
export interface TreeFacts {
  /** One definition per name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly tools: readonly Tool[];
  /** One a name. */
  readonly sources: ReadonlyMap<string, ToolSource>;
  /** True if a function returns tools or code calls agents, so that the tree is not completely known. */
  readonly open: boolean;
}

const cache = new WeakMap<Agent, TreeFacts>();

/** Walks the delegates below an agent. An ancestor's name is a cycle; within a tree a name has one definition. */
export function treeFacts(root: Agent): TreeFacts {
  let facts = cache.get(root);
  if (facts === undefined) {
    const found = { agents: new Map<string, Agent>(), tools: new Set<Tool>(), sources: new Map<string, ToolSource>() };
    const open = visit(root, found, []);
    facts = { agents: found.agents, tools: [...found.tools], sources: found.sources, open };
    cache.set(root, facts);
  }
  return facts;
}

interface Found {
  readonly agents: Map<string, Agent>;
  readonly tools: Set<Tool>;
  readonly sources: Map<string, ToolSource>;
}

function visit(agent: Agent, found: Found, above: readonly string[]): boolean {
  const { agents, tools } = found;
  const field = above.length === 0 ? `agent ${agent.name}` : `agent ${above[0]}.workers`;
  if (above.includes(agent.name)) {
    throw new ConfigurationError(
      field,
      `cycle: ${[...above, agent.name].join(' → ')}`,
      'An agent cannot be below one of its own name.',
    );
  }
  const other = agents.get(agent.name);
  if (other !== undefined && other !== agent) {
    throw new ConfigurationError(
      field,
      `duplicate name ${agent.name} for two definitions`,
      'Within a tree a name stands for one definition.',
    );
  }
  if (other !== undefined) return false;
  agents.set(agent.name, agent);
  if (agent.type === 'model') for (const source of agent.sources) addSource(found.sources, source, agent.name);
  let open = agent.type === 'code' || typeof agent.tools === 'function';
  if (typeof agent.tools === 'function') return open;
  for (const tool of agent.tools) {
    tools.add(tool);
    if (tool.type !== 'procedure') continue;
    if (tool.delegate === undefined) open ||= tool.callsDelegates !== true;
    else if (visit(tool.delegate.agent, found, [...above, agent.name])) open = true;
  }
  return open;
}

/** Rules know its tools by its name: two under one would share what is allowed to either. */
function addSource(sources: Map<string, ToolSource>, source: ToolSource, agent: string): void {
  const other = sources.get(source.name);
  if (other === undefined || other === source) {
    sources.set(source.name, source);
    return;
  }
  const problem = `duplicate name ${source.name} for two servers`;
  throw new ConfigurationError(`agent ${agent}.tools`, problem, 'Give each a name of its own: { name }.');
}
