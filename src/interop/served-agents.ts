import { isAgent } from '../agents/delegate.ts';
import type { Agent } from '../core/contract/agent.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { shown } from '../core/values/options.ts';

/** The served agents, by name. Refuses two agents with one name and agents without a description. */
export function servedAgents(agents: unknown): ReadonlyMap<string, Agent> {
  if (!Array.isArray(agents) || agents.length === 0)
    throw new ConfigurationError('agents', `expected agents, got ${shown(agents)}`, 'List the agents to serve.');
  const byName = new Map<string, Agent>();
  for (const [index, agent] of agents.entries()) {
    const field = `agents[${index}]`;
    if (!isAgent(agent))
      throw new ConfigurationError(field, `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
    const { name, description } = agent;
    if (byName.has(name))
      throw new ConfigurationError(field, `a second agent is named ${name}`, 'Give each a name of its own.');
    if (description === '')
      throw new ConfigurationError(`${field}.description`, 'a caller needs one', 'Say in a sentence what it is for.');
    byName.set(name, agent);
  }
  return byName;
}
