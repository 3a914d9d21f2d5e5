import { treeFacts } from '../../agents/tree-facts.ts';
import type { DetachedChild, DetachedOutcome } from '../../core/contract/detached.ts';
import { find } from '../run/child.ts';
import type { ChildRunner } from './run-child.ts';

/** Runs a detached child in the process of its parent, where the journal runs none elsewhere. */
export async function runHere(run: ChildRunner, child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome> {
  // Loaded late: it starts runs, as its caller does.
  const { runDetached } = await import('./run-detached.ts');
  const { deps, model, models, graceMs, hooks, instrument, journal, onObserverError } = run.options;
  const agent = find(run.root, child.parent.key)?.definition;
  const agents = agent === undefined ? [] : [agent];
  const facts = agent && treeFacts(agent);
  const below = Object.entries(models ?? {}).filter(([name]) => facts?.open === true || facts?.agents.has(name));
  const options = {
    deps,
    model,
    models: Object.fromEntries(below),
    graceMs,
    hooks,
    instrument,
    journal,
    onObserverError,
  };
  return runDetached(agents, child, { ...options, signal });
}
