import type { ModelAgent } from '../../core/contract/agent.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { ModelCatalog } from '../../core/runtime/model-catalog.ts';
import type { Model } from '../../core/values/model.ts';
import { modelName } from '../../core/values/model-facts.ts';
import { contextTokensOf, costOf, worstCostOf } from '../../models/prices.ts';
import { chooseModel, type ModelFacts, modelFacts, rememberedModel } from './run-models.ts';
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
