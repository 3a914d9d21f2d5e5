import { treeFacts } from '../agents/tree-facts.ts';
import type { Agent } from '../core/contract/agent.ts';
import type { Environment } from '../models/from-env.ts';
import { modelFromEnv } from '../models/from-env.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';

/**
 * Gives agents without a model the environment's model; models of agents and options stay. Throws a ConfigurationError that names
 * the variables if a model is missing.
 */
export function modelOptions(
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
  // Set for the whole run, so that agents that are found only at run time have it too; never instead of an agent's own model.
  if (without.length === driven.length) return { model };
  return { models: { ...Object.fromEntries(without.map(({ name }) => [name, model])), ...options.models } };
}
