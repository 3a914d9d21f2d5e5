import { ACCESS_FACTS, ACCESSES, type Access } from '../core/contract/access.ts';
import type { AskReason, PermissionMode, Verdict } from '../core/contract/permission.ts';
import type { Label } from '../core/values/label.ts';
import { type RuleValue, readRuleValue } from './rule-value.ts';
import { namesTool, type Rule, type RuledTool, scopeHolds } from './rules.ts';
import { suggestAllow, suggestFlow } from './suggest.ts';

/** A source of permissions: the run's options, a file of the project or the user, a delegate's options, an agent's definition. */
export interface Level {
  readonly source: 'run' | 'project' | 'user' | 'delegate' | 'agent';
  readonly rules: readonly Rule[];
  /** Without one, the levels above decide; a run without one is in mode `ask`. */
  readonly mode?: PermissionMode | undefined;
  /** A cap: nothing below may use other tools. */
  readonly tools?: readonly string[] | undefined;
}

/** One call as the permission step sees it: parsed, nothing done yet. */
export interface Query {
  readonly tool: RuledTool & { readonly access: Access };
  /** The result of the tool's own `needsApproval`. */
  readonly needsApproval?: boolean | undefined;
  readonly args: { readonly [key: string]: unknown };
  /** The join of all that the caller has seen. */
  readonly label: Label;
  /** The run's options first, then files, then from the root's definition down to the agent's own. */
  readonly levels: readonly Level[];
}

/**
 * May this call happen? Pure; the first answer that is not "allow" wins: caps → deny rules → mode `plan` → flow → ask rules and
 * `needsApproval` → allow rules → the mode. In mode `unattended` (of any level) an ask is a denial.
 *
 * A level narrows. The one thing it may open: an allow rule of the run's options, a file or a definition answers the *ask* of the
 * mode; one of a delegate's options does not.
 */
export function decide(query: Query): Verdict {
  const value = someScoped(query) ? readRuleValue(ownArgument(query)) : UNREAD;
  const verdict =
    capped(query) ??
    denied(query, value) ??
    planned(query) ??
    byFlow(query, value) ??
    byAskRule(query, value) ??
    unmatched(query, value) ??
    byMode(query, value);
  return verdict.verdict === 'ask' && query.levels.some((level) => level.mode === 'unattended')
    ? unattended(verdict)
    : verdict;
}

/** Where no rule looks at the argument, neither does this. */
const UNREAD: RuleValue = Object.freeze({ strict: undefined, folded: [], invisible: undefined });

/** Suggestions are computed on demand, since most requests are answered without them. */
function lazyAsk(
  why: { readonly reason: AskReason; readonly rule?: string },
  suggest: () => readonly string[],
): Extract<Verdict, { verdict: 'ask' }> {
  return {
    verdict: 'ask',
    ...why,
    get suggest() {
      return suggest();
    },
  };
}

function ownArgument({ tool, args }: Query): unknown {
  return tool.ruleArg !== undefined && Object.hasOwn(args, tool.ruleArg) ? args[tool.ruleArg] : undefined;
}

function capped({ tool, levels }: Query): Verdict | undefined {
  for (const level of levels) {
    if (level.tools !== undefined && !level.tools.some((name) => namesTool({ tool: name }, tool))) {
      return { verdict: 'deny', reason: `${tool.name} is not among the tools given here`, suggest: [] };
    }
  }
  return undefined;
}

function denied(query: Query, value: RuleValue): Verdict | undefined {
  const found = firstMatch(query, value, (rule) => rule.effect === 'deny');
  if (value.invisible !== undefined) {
    const reason = `${query.tool.ruleArg} holds an invisible character (${value.invisible})`;
    return { verdict: 'deny', reason, ...(found && { rule: found.text }), suggest: [] };
  }
  return found && { verdict: 'deny', reason: `denied by the rule '${found.text}'`, rule: found.text, suggest: [] };
}

/** Mode `plan` allows reading only. It is checked before the other modes, so that nobody is asked about a call that it denies. */
function planned({ tool, levels }: Query): Verdict | undefined {
  if (!ACCESS_FACTS[tool.access].hasEffect || strictestMode(levels) !== 'plan') return undefined;
  return { verdict: 'deny', reason: `mode 'plan' allows reading only, and this is '${tool.access}'`, suggest: [] };
}

/** Information flow: untrusted data must not cause an effect, and confidential data must not be sent. */
function byFlow(query: Query, value: RuleValue): Verdict | undefined {
  const { tool, label } = query;
  const { hasEffect, sends } = ACCESS_FACTS[tool.access];
  if (label.confidentiality === 'secret' && sends) {
    return { verdict: 'deny', reason: 'secret data must not be sent', suggest: [] };
  }
  const isUntrusted = label.integrity === 'untrusted' && hasEffect;
  const isLeak = label.confidentiality === 'private' && sends;
  if ((!isUntrusted && !isLeak) || endorsement(query, value) !== undefined) return undefined;
  return lazyAsk({ reason: 'flow' }, () => suggestFlow(query, isUntrusted ? label.origins : []));
}

function byAskRule(query: Query, value: RuleValue): Verdict | undefined {
  const rule = firstMatch(query, value, ({ effect }) => effect === 'ask');
  if (rule !== undefined) return { verdict: 'ask', reason: 'rule', rule: rule.text, suggest: [] };
  return query.needsApproval === true ? { verdict: 'ask', reason: 'tool', suggest: [] } : undefined;
}

/**
 * A tool with scoped allow rules needs approval if a level has such rules and none matches. Rules of a file do not narrow those of the
 * code, since `always` writes such rules.
 */
function unmatched(query: Query, value: RuleValue): Verdict | undefined {
  for (const level of query.levels) {
    const rules = allowRules(query, level, value);
    const scoped = rules.find((rule) => rule.scope !== undefined);
    if (scoped !== undefined && !rules.some((rule) => scopeHolds(rule, value))) {
      if (isFile(level) && allowance(query, value) !== undefined) continue;
      return lazyAsk({ reason: 'rule', rule: scoped.text }, () => suggestAllow(query));
    }
  }
  return undefined;
}

function byMode(query: Query, value: RuleValue): Verdict {
  const { access } = query.tool;
  const endorsed = endorsement(query, value);
  const rule = endorsed ?? allowance(query, value);
  const allowed: Verdict = rule === undefined ? { verdict: 'allow' } : { verdict: 'allow', rule: rule.text };
  if (MODE_ALLOWS[strictestMode(query.levels)].includes(access)) return allowed;
  return rule === undefined ? lazyAsk({ reason: 'risk' }, () => suggestAllow(query)) : allowed;
}

/** The accesses that each mode allows; `unattended` is `ask` without a person. */
export const STRICTNESS = {
  acceptAll: 0,
  acceptWrites: 1,
  ask: 2,
  unattended: 2,
  plan: 3,
} as const satisfies Record<PermissionMode, number>;

const NO_EFFECT = ACCESSES.filter((access) => !ACCESS_FACTS[access].hasEffect);

/** What each mode allows unasked. In mode `plan` the rest was denied before. */
const MODE_ALLOWS: Record<PermissionMode, readonly Access[]> = {
  ask: NO_EFFECT,
  plan: NO_EFFECT,
  unattended: NO_EFFECT,
  acceptWrites: [...NO_EFFECT, 'write'],
  acceptAll: ACCESSES,
};

/** `plan` is stricter than `ask`, `ask` than `acceptWrites`, `acceptWrites` than `acceptAll`; `unattended` is `ask` without a person. */
function strictestMode(levels: readonly Level[]): Exclude<PermissionMode, 'unattended'> {
  let strictest: PermissionMode = levels.find((level) => level.source === 'run')?.mode ?? 'ask';
  for (const { mode } of levels) {
    if (mode !== undefined && STRICTNESS[mode] > STRICTNESS[strictest]) strictest = mode;
  }
  return strictest === 'unattended' ? 'ask' : strictest;
}

function isFile({ source }: Level): boolean {
  return source === 'project' || source === 'user';
}

function unattended(verdict: Extract<Verdict, { verdict: 'ask' }>): Verdict {
  const { rule, suggest } = verdict;
  const reason = `needs an approval (${ASKED_FOR[verdict.reason]}), and in mode 'unattended' nobody is there to give it`;
  return { verdict: 'deny', reason, ...(rule !== undefined && { rule }), suggest };
}

const ASKED_FOR: Record<AskReason, string> = {
  rule: 'a rule asks',
  flow: 'untrusted or private data before an effect',
  risk: 'its access',
  tool: 'the tool asks',
  unknown: 'its outcome is unknown',
  data: 'whether its result may be trusted',
};

function firstMatch({ levels, tool }: Query, value: RuleValue, wanted: (rule: Rule) => boolean): Rule | undefined {
  for (const level of levels) {
    const found = level.rules.find((rule) => wanted(rule) && namesTool(rule, tool) && scopeHolds(rule, value));
    if (found !== undefined) return found;
  }
  return undefined;
}

function someScoped({ levels, tool }: Query): boolean {
  return levels.some((level) => level.rules.some((rule) => rule.scope !== undefined && namesTool(rule, tool)));
}

/** The run's `allow!` for this call: only the run's own options endorse. */
function endorsement({ levels, tool }: Query, value: RuleValue): Rule | undefined {
  for (const level of levels) {
    if (level.source !== 'run') continue;
    const found = level.rules.find(
      (rule) => rule.effect === 'allow!' && namesTool(rule, tool) && scopeHolds(rule, value),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Allow rules of a level for this tool. An `allow!` below the run counts only where the run gives it too. */
function allowRules(query: Query, level: Level, value: RuleValue): Rule[] {
  return level.rules.filter(
    (rule) =>
      (rule.effect === 'allow' ||
        (rule.effect === 'allow!' && (level.source === 'run' || endorsement(query, value) !== undefined))) &&
      namesTool(rule, query.tool),
  );
}

function allowance(query: Query, value: RuleValue): Rule | undefined {
  for (const level of query.levels) {
    if (level.source === 'delegate') continue;
    const found = allowRules(query, level, value).find((rule) => scopeHolds(rule, value));
    if (found !== undefined) return found;
  }
  return undefined;
}
