import type { Grant, GrantedLevel } from '../core/apart.ts';
import { ToolError } from '../core/errors.ts';
import type { Invocation } from '../core/invocation.ts';
import { DEFAULTS, type Limits } from '../core/limits.ts';
import { asJson } from '../journal/row.ts';
import type { Level } from '../security/decide.ts';

/** What grants are carved out of. */
export interface GrantSource {
  readonly limits: Limits & { readonly timeMs: number; readonly depth: number; readonly agents: number };
  readonly count: { readonly steps: number; readonly toolCalls: number; readonly agents: number };
  readonly trust: ReadonlySet<string>;
}

/**
 * The limits of a child apart: its own, and no more than what is left above. Tokens and money are reserved for it as a whole,
 * so where a cap holds above it needs limits of its own.
 */
export function grantedLimits({ limits, count }: GrantSource, self: Invocation): Limits {
  const own = self.limits;
  for (const name of ['tokens', 'costUsd'] as const) {
    if (own[name] !== undefined || !isCapped(limits, self, name)) continue;
    const message = `${self.agent} runs apart and a limit of ${name} holds above it: give its delegate limits.${name} of its own`;
    throw new ToolError('denied', message);
  }
  const rest = (cap: number | undefined, used: number) => (cap === undefined ? undefined : Math.max(0, cap - used));
  const least = (...of: readonly (number | undefined)[]) => {
    const given = of.filter((limit) => limit !== undefined);
    return given.length === 0 ? undefined : Math.min(...given);
  };
  const steps = rest(limits.steps, count.steps);
  const toolCalls = rest(limits.toolCalls, count.toolCalls);
  return {
    steps: steps && Math.min(steps, own.steps ?? DEFAULTS.steps),
    toolCalls: toolCalls && Math.min(toolCalls, own.toolCalls ?? DEFAULTS.toolCalls),
    tokens: own.tokens,
    costUsd: own.costUsd,
    timeMs: least(own.timeMs, limits.timeMs),
    // It counts already.
    agents: least(own.agents, limits.agents - count.agents + 1),
    depth: limits.depth - self.depth + 1,
    concurrency: limits.concurrency,
  };
}

/** All else that is granted follows from where the child stands. */
export function grantOf(run: GrantSource, self: Invocation, limits: Limits, levels: readonly Level[]): Grant {
  const above: string[] = [];
  for (let node = self.parent; node !== undefined; node = node.parent) above.push(node.agent);
  return {
    limits,
    own: self.limits,
    levels: levels.map(grantedLevel),
    trust: [...run.trust],
    label: self.label,
    shared: { values: asJson(self.shared) as Grant['shared']['values'], label: self.sharedLabel },
    above,
  };
}

function isCapped(limits: Limits, self: Invocation, name: 'tokens' | 'costUsd'): boolean {
  for (let node = self.parent; node !== undefined; node = node.parent) if (node.limits[name] !== undefined) return true;
  return limits[name] !== undefined;
}

function grantedLevel({ source, rules, mode, tools }: Level): GrantedLevel {
  const texts = rules.map(({ text }) => text);
  return { source, rules: texts, ...(mode !== undefined && { mode }), ...(tools !== undefined && { tools }) };
}
