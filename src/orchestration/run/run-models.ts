import type { ModelAgent } from '../../core/contract/agent.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Model } from '../../core/values/model.ts';
import { modelName } from '../../core/values/model-facts.ts';
import { contextTokensOf } from '../../models/prices.ts';
import type { CheckedOptions } from './run-options.ts';

/** What is recorded of a model, so that a replay has it without asking it. */
export interface ModelFacts {
  /** `provider/id`. */
  readonly model: string;
  readonly modelLimits?: NonNullable<Model['limits']>;
}

/** Who drives an agent in this run: the run's model of that name, else the run's, else its own. */
export function chooseModel({ models, model }: CheckedOptions, agent: ModelAgent): Model {
  const named = models !== undefined && Object.hasOwn(models, agent.name) ? models[agent.name] : undefined;
  const chosen = named ?? model ?? agent.model;
  if (chosen !== undefined) return chosen;
  throw new ConfigurationError(`agent ${agent.name}.model`, 'missing', 'Give the agent a model, or the run.');
}

export function modelFacts(model: Model): ModelFacts {
  const contextTokens = contextTokensOf(model);
  const modelLimits = contextTokens === undefined ? model.limits : { ...model.limits, contextTokens };
  return { model: modelName(model), ...(modelLimits !== undefined && { modelLimits }) };
}

/** A model by its record: a replay asks none. */
export function rememberedModel(model: string, limits: Model['limits']): Model {
  const slash = model.indexOf('/');
  const names = { provider: model.slice(0, slash), id: model.slice(slash + 1) };
  const generate = () => Promise.reject(new Error('a replay asks no model'));
  return { ...names, generate, ...(limits && { limits }) };
}
