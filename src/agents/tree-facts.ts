import type { Agent } from '../core/agent.ts';
import { ConfigurationError } from '../core/errors.ts';
import type { Tool } from '../core/tool.ts';

/** What can be known of an agent's tree before it runs. */
export interface TreeFacts {
  /** One definition a name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly tools: readonly Tool[];
  /** True where a function gives tools or code calls agents: then not all of the tree is known. */
  readonly open: boolean;
}

const known = new WeakMap<Agent, TreeFacts>();

/** Walks the delegates below an agent. An ancestor's name is a cycle; within a tree a name stands for one definition. */
export function treeFacts(root: Agent): TreeFacts {
  let facts = known.get(root);
  if (facts === undefined) {
    const agents = new Map<string, Agent>();
    const tools = new Set<Tool>();
    const open = visit(root, agents, tools, []);
    facts = { agents, tools: [...tools], open };
    known.set(root, facts);
  }
  return facts;
}

function visit(agent: Agent, agents: Map<string, Agent>, tools: Set<Tool>, above: readonly string[]): boolean {
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
  let open = agent.type === 'code' || typeof agent.tools === 'function';
  if (typeof agent.tools === 'function') return open;
  for (const tool of agent.tools) {
    tools.add(tool);
    if (tool.type !== 'procedure') continue;
    if (tool.delegate === undefined) open ||= tool.callsDelegates !== true;
    else if (visit(tool.delegate.agent, agents, tools, [...above, agent.name])) open = true;
  }
  return open;
}
