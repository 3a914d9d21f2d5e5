import { treeFacts } from '../../agents/tree-facts.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { DetachedChild, DetachedOutcome } from '../../core/contract/detached.ts';
import { LiveRun, type Origin } from '../run/run.ts';
import type { FollowUp } from '../run/run-memories.ts';
import type { CheckedOptions } from '../run/run-options.ts';
import { type RunStarter, RunTree } from '../run/run-tree.ts';

/** Begins a run: gives its handle. */
export function liveRun<Output>(id: string, agent: Agent, options: CheckedOptions, origin: Origin): LiveRun<Output> {
  return new LiveRun<Output>(newTree(id, agent, options), origin, options, isTeam(agent));
}

/** The tree of a run that has not begun; `child` in the run of a detached child. */
export function newTree(id: string, agent: Agent, options: CheckedOptions, child?: DetachedChild): RunTree {
  return new RunTree(id, agent, options, (tree) => new TreeStarter(tree), child);
}

export function isTeam(agent: Agent): boolean {
  const { agents, open } = treeFacts(agent);
  return agents.size > 1 || open;
}

/** What it starts is loaded late: most runs start no other. */
class TreeStarter implements RunStarter {
  readonly #tree: RunTree;

  constructor(tree: RunTree) {
    this.#tree = tree;
  }

  async runHere(child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome> {
    const { runDetached } = await import('./run-detached.ts');
    const { deps, model, models, graceMs, hooks, instrument, journal, onObserverError } = this.#tree.options;
    const agent = this.#tree.root.find(child.parent.key)?.definition;
    const agents = agent === undefined ? [] : [agent];
    const facts = agent && treeFacts(agent);
    const below = Object.entries(models ?? {}).filter(([name]) => facts?.open === true || facts?.agents.has(name));
    const own = {
      deps,
      model,
      models: Object.fromEntries(below),
      graceMs,
      hooks,
      instrument,
      journal,
      onObserverError,
    };
    return runDetached(agents, child, { ...own, signal });
  }

  async afterRun(followUp: FollowUp): Promise<{ readonly over: Promise<void> }> {
    const { afterRun } = await import('./after-run.ts');
    return afterRun(this.#tree, followUp);
  }
}
