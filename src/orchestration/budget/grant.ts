import { treeFacts } from '../../agents/tree-facts.ts';
import type { DetachedOutcome, Grant, GrantedLevel } from '../../core/contract/detached.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import { ToolError } from '../../core/values/errors.ts';
import { DEFAULTS, type Limits } from '../../core/values/limits.ts';
import { asJson } from '../../journal/row.ts';
import type { Level } from '../../security/decide.ts';
import { type Counts, ReservedCounts } from './reserved-counts.ts';

/** What a grant is computed from. */
export interface GrantSource {
  readonly journal: Journal;
  readonly limits: Limits & { readonly timeMs: number; readonly depth: number; readonly agents: number };
  readonly count: Counts;
  readonly options: { readonly trust: ReadonlySet<string> };
}

/**
 * The grant of a detached child. Its limits depend on the rest of the tree at that time, so they are recorded for a resume; all else
 * follows from its node.
 *
 * @throws ToolError where nothing remains for it.
 */
export function grantFor(run: GrantSource, self: Invocation, levels: readonly Level[]): Grant {
  const limits = run.journal.once(`${self.path}/@grant`, self, () => grantedLimits(run, self));
  if ('refused' in limits) throw new ToolError('denied', limits.refused);
  const above: string[] = [];
  for (let node = self.parent; node !== undefined; node = node.parent) above.push(node.agent);
  return {
    limits,
    own: self.limits,
    levels: levels.map(grantedLevel),
    trust: [...run.options.trust],
    label: self.label,
    shared: { values: asJson(self.shared) as Grant['shared']['values'], label: self.sharedLabel },
    above,
  };
}

/** Reserves what was granted: nothing for a child that has ended, the unused rest for one that had begun. */
export function reservedFor({ count, journal }: GrantSource, { path }: Invocation, limits: Limits): ReservedCounts {
  if (journal.recall('agent', path) !== undefined) return new ReservedCounts(count, { agents: 1 }, undefined);
  let before: DetachedOutcome | undefined;
  for (let stretch = 0; ; stretch += 1) {
    const ended = journal.recall('child', `${path}/@apart.${stretch}`);
    if (ended === undefined) return new ReservedCounts(count, limits, before);
    if (ended.event === 'done') before = ended.value;
  }
}

/** Each limit of a run is named, so that a new one cannot be left out of what a detached child is granted. */
type GrantedLimits = { readonly [name in keyof Required<Limits>]: number | undefined };

/**
 * The limits of a detached child: its own, and at most half of what remains above. Tokens and money are reserved for it as a
 * whole, so where a cap holds above it needs limits of its own.
 */
function grantedLimits({ limits, count }: GrantSource, self: Invocation): GrantedLimits | { readonly refused: string } {
  const own = self.limits;
  for (const name of ['tokens', 'costUsd'] as const) {
    if (own[name] !== undefined || !isCapped(limits, self, name)) continue;
    const mend = `give its delegate limits.${name} of its own`;
    return { refused: `${self.agent} runs detached and a limit of ${name} holds above it: ${mend}` };
  }
  if (limits.steps !== undefined && count.steps >= limits.steps)
    return { refused: `the limit of ${limits.steps} steps in this run is reached` };
  const { agents, open } = treeFacts(self.definition);
  const isAlone = agents.size === 1 && !open;
  return {
    steps: share(limits.steps, count.steps, own.steps ?? DEFAULTS.steps),
    toolCalls: share(limits.toolCalls, count.toolCalls, own.toolCalls ?? DEFAULTS.toolCalls),
    tokens: own.tokens,
    costUsd: own.costUsd,
    timeMs: Math.min(own.timeMs ?? limits.timeMs, limits.timeMs),
    agents: isAlone ? 1 : 1 + (share(limits.agents, count.agents + 1, (own.agents ?? limits.agents) - 1) ?? 0),
    depth: limits.depth - self.depth + 1,
    concurrency: limits.concurrency,
  };
}

/** Half of what remains: its siblings need some too. */
function share(cap: number | undefined, used: number, own: number): number | undefined {
  return cap === undefined ? undefined : Math.min(own, Math.ceil(Math.max(0, cap - used) / 2));
}

function isCapped(limits: Limits, self: Invocation, name: 'tokens' | 'costUsd'): boolean {
  for (let node = self.parent; node !== undefined; node = node.parent) if (node.limits[name] !== undefined) return true;
  return limits[name] !== undefined;
}

function grantedLevel({ source, rules, mode, tools }: Level): GrantedLevel {
  const texts = rules.map(({ text }) => text);
  return { source, rules: texts, ...(mode !== undefined && { mode }), ...(tools !== undefined && { tools }) };
}
