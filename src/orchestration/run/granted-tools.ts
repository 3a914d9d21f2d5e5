import { askSupervisor } from '../../agents/ask-supervisor.ts';
import { checkTools } from '../../agents/define-agent.ts';
import { mailboxTools } from '../../agents/mailbox-tools.ts';
import type { ModelAgent } from '../../core/contract/agent.ts';
import type { RunPermissions } from '../../core/contract/permission.ts';
import type { Tool } from '../../core/contract/tool.ts';
import { mayWrite } from '../../core/loop/mailbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import { pinPlan } from '../approvals/plans.ts';
import { readResult, withReadResult } from './read-result.ts';
import type { RunMemories } from './run-memories.ts';
import { sharedRead } from './shared-store.ts';

const NONE: readonly Tool[] = Object.freeze([]);

/** What the granted tools depend on. */
export interface GrantedToolsParts {
  readonly journal: Journal;
  readonly deps: unknown;
  readonly memories: RunMemories;
  readonly options: { readonly permissions: RunPermissions };
  readonly isReplay: boolean;
}

/** An agent's own tools, with those that follow from its memory grants, its shared store and its delegate. */
export function grantedTools(
  run: GrantedToolsParts,
  self: Invocation,
  own: readonly Tool[],
  agent: ModelAgent,
): readonly Tool[] {
  if (agent.quarantined) return NONE;
  const isGiven = typeof agent.tools === 'function';
  if (isGiven) checkTools(`agent ${agent.name}.tools`, own);
  const grants = agent.memory.map(({ store, namespace, read = true, write = false, select, extract }, index) => {
    const name =
      typeof namespace === 'function'
        ? run.journal.once(`${self.path}/@namespace.${index}`, self, () => namespace({ deps: run.deps as never }))
        : namespace;
    return { store, namespace: name, read, write, select, extract };
  });
  const more = grants.length === 0 ? [] : run.memories.tools(self, grants);
  if (makesPlans(run, self) && !own.some(({ name }) => name === pinPlan.name)) more.push(pinPlan);
  if (self.delegate?.ask !== undefined) more.push(askSupervisor);
  if (mayWrite(self)) more.push(...mailboxTools);
  const granted = agent.readResult ? [...more, readResult] : more;
  if (isGiven && granted.length > 0) checkTools(`agent ${agent.name}.tools`, [...own, ...granted]);
  if (Object.keys(self.shared).length > 0 && !own.some(({ name }) => name === sharedRead.name)) more.push(sharedRead);
  const all = agent.readResult ? withReadResult(own) : own;
  return more.length === 0 ? all : [...all, ...more];
}

/** It is on record, since a replay is given no permissions. */
function makesPlans({ journal, options, isReplay }: GrantedToolsParts, self: Invocation): boolean {
  const key = `${self.path}/@plans`;
  if (options.permissions.plans !== true && !(isReplay && journal.has(key))) return false;
  return journal.once(key, self, () => true);
}
