import { treeFacts } from '../../agents/tree-facts.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { Grant } from '../../core/contract/detached.ts';
import type { Span } from '../../core/contract/record.ts';
import { Invocation } from '../../core/runtime/invocation.ts';
import { TRUSTED } from '../../core/values/label.ts';
import { narrow } from './child.ts';
import type { Shared } from './shared-store.ts';

/** The root of a run; that of a detached child as its grant narrows it. `run` is the span of the run itself. */
export function rootNode(agent: Agent, shared: Shared, run: Span, grant: Grant | undefined): Invocation {
  const { agents, open } = treeFacts(agent);
  // The run of a lone agent is its own span, and so is that of a detached child.
  const isTeam = (agents.size > 1 || open) && grant === undefined;
  const span = isTeam ? { key: agent.name, parent: run, handle: undefined } : run;
  const facts = { path: agent.name, definition: agent, parent: undefined, parentStep: undefined, span };
  const labels = { sharedLabel: grant?.shared.label ?? TRUSTED, label: grant?.label ?? TRUSTED };
  const limits = grant === undefined ? agent.limits : narrow(agent.limits, grant.own);
  return new Invocation({ ...facts, limits, shared, ...labels });
}
