import type { ModelAgent } from '../../core/contract/agent.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { ModelCatalog } from '../../core/runtime/run-context.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { type Model, modelName } from '../../core/values/model.ts';
import { contextTokensOf, costOf, worstCostOf } from '../../models/prices.ts';
import type { CheckedOptions } from './run-options.ts';

interface ModelsParts {
  readonly options: CheckedOptions;
  readonly journal: Journal;
  readonly isReplay: boolean;
}

/** Chooses the model of each invocation: by the options of the run, in a replay by the records. */
export class TreeModels implements ModelCatalog {
  readonly #run: ModelsParts;
  /** False of a replay that asks what the code of now would do. */
  remembers = true;
  readonly costOf = costOf;
  readonly worstCostOf = worstCostOf;

  constructor(run: ModelsParts) {
    this.#run = run;
  }

  of(self: Invocation, agent: ModelAgent): Model {
    const { isReplay, journal, options } = this.#run;
    const recorded = isReplay && this.remembers ? journal.recallStart('agent', self.path)?.request : undefined;
    const model =
      recorded?.model === undefined
        ? chooseModel(options, agent)
        : rememberedModel(recorded.model, recorded.modelLimits);
    self.model = modelName(model);
    return model;
  }

  /** The facts of its model that are recorded; code has none. */
  factsOf(self: Invocation): ModelFacts | undefined {
    const { definition } = self;
    return definition.type === 'model' ? modelFacts(this.of(self, definition)) : undefined;
  }

  /** In a replay the recorded one. */
  contextTokens(model: Model): number | undefined {
    return this.#run.isReplay ? model.limits?.contextTokens : contextTokensOf(model);
  }
}

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
function rememberedModel(model: string, limits: Model['limits']): Model {
  const slash = model.indexOf('/');
  const names = { provider: model.slice(0, slash), id: model.slice(slash + 1) };
  const generate = () => Promise.reject(new Error('a replay asks no model'));
  return { ...names, generate, ...(limits && { limits }) };
}
