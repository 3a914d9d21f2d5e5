import type { ModelAgent } from '../contract/agent.ts';
import type { Model } from '../values/model.ts';
import type { CallUsage } from '../values/usage.ts';
import type { Invocation } from './invocation.ts';

/** The models of a run: which one an invocation uses, its window and its prices. */
export interface ModelCatalog {
  of(self: Invocation, agent: ModelAgent): Model;
  /** The window of a model: its own, else the known one; undefined where none is known. */
  contextTokens(model: Model): number | undefined;
  /** What a call cost, in USD; undefined where no price is known. */
  costOf(model: Pick<Model, 'provider' | 'id' | 'server' | 'price'>, usage: CallUsage): number | undefined;
  /** What so many tokens cost at most: as if all input were of its dearest kind. */
  worstCostOf(model: Model, input: number, output: number): number | undefined;
}
