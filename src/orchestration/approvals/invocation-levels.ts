import type { Permissions } from '../../core/contract/permission.ts';
import type { Delegate } from '../../core/contract/tool.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Level } from '../../security/decide.ts';
import { parseRules } from '../../security/rules.ts';

/** What is said of an invocation's calls: all that is said above, then its delegate's and its own; `above` itself where these say nothing. */
export function levelsOf(above: readonly Level[], self: Invocation, delegate: Delegate | undefined): readonly Level[] {
  const own = self.definition.permissions;
  const levels: Level[] = [...above];
  if (delegate !== undefined && (delegate.tools !== undefined || saysSomething(delegate.permissions))) {
    const { rules = [], mode } = delegate.permissions;
    const field = `delegate ${self.agent}.permissions.rules`;
    levels.push({ source: 'delegate', rules: parseRules(rules, field), mode, tools: delegate.tools });
  }
  if (saysSomething(own)) {
    const field = `agent ${self.agent}.permissions.rules`;
    levels.push({ source: 'agent', rules: parseRules(own.rules ?? [], field), mode: own.mode });
  }
  return levels.length === above.length ? above : levels;
}

/** Whether a definition or a delegate says anything of its calls. */
export function saysSomething({ rules, mode }: Permissions): boolean {
  return mode !== undefined || (rules !== undefined && rules.length > 0);
}
