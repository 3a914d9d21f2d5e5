import { treeFacts } from '../agents/tree-facts.ts';
import type { Agent } from '../core/contract/agent.ts';
import type { Environment } from '../models/from-env.ts';
import { modelFromEnv } from '../models/from-env.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';

/**
 * The environment's model for the agents that have none. An agent's own stays, and so does what the options say. Throws a
 * ConfigurationError that names the variables where a model is missing.
 */
export function chooseModel(
  root: Agent,
  options: RunOptions,
  env: Environment = process.env,
): Pick<RunOptions, 'model' | 'models'> {
  if (options.model !== undefined) return {};
  const { agents } = treeFacts(root);
  const driven = [...agents.values()].filter((agent) => agent.type === 'model');
  const without = driven.filter((agent) => agent.model === undefined && options.models?.[agent.name] === undefined);
  if (without.length === 0) return {};
  const model = modelFromEnv(env);
  // For all, so that agents which only show at run time have it as well; but never in place of an agent's own.
  if (without.length === driven.length) return { model };
  return { models: { ...Object.fromEntries(without.map(({ name }) => [name, model])), ...options.models } };
}
