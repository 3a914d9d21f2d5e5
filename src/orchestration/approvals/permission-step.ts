import { ToolCallEffect } from '../../core/call/tool-call.ts';
import { ACCESS_FACTS } from '../../core/contract/access.ts';
import type { Grant } from '../../core/contract/detached.ts';
import type { ApprovalRequest, Decision, RunPermissions, Verdict } from '../../core/contract/permission.ts';
import type { Delegate, Tool } from '../../core/contract/tool.ts';
import type {
  CallPermissions,
  Endorse,
  Permit,
  PermitQuery,
  Restriction,
} from '../../core/runtime/call-permissions.ts';
import { envelope } from '../../core/runtime/envelope.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Call, Outcome } from '../../core/runtime/journal.ts';
import { messageOf } from '../../core/values/errors.ts';
import { isPlainObject, type Json, sha256 } from '../../core/values/json.ts';
import type { TypedRow } from '../../journal/read-row.ts';
import { approvalRequest, argsHash, checkDecision } from '../../security/approval.ts';
import { decide, type Level } from '../../security/decide.ts';
import { restrictionBy } from '../../security/restriction.ts';
import { checkRules, namesTool, parseRule, parseRules, type Rule, writeRule } from '../../security/rules.ts';
import { denial, UNATTENDED } from './ask-approver.ts';
import { endorsements } from './endorsements.ts';
import { levelsOf, saysSomething } from './invocation-levels.ts';
import { Plans } from './plans.ts';
import { type PutRequestParts, putRequest } from './put-request.ts';

/** What the permission step uses of its run. */
export interface PermissionParts extends PutRequestParts {
  readonly id: string;
  readonly options: PutRequestParts['options'] & {
    readonly permissions: RunPermissions;
    readonly rules: readonly Rule[];
    /** Of files of the project and the user. */
    readonly scopes: readonly Level[];
  };
  /** Set in the run of a detached child: its grant has the levels of all above it. */
  readonly child: { readonly grant: Grant } | undefined;
}

type Ask = Extract<Verdict, { verdict: 'ask' }>;

/** May this call happen? Decides by rules, asks where they say so, and records every ask and denial. */
export class PermissionStep implements CallPermissions {
  readonly #parts: PermissionParts;
  readonly #runRules: Rule[];
  readonly endorse: Endorse | undefined;
  readonly #plans: Plans | undefined;
  readonly #runLevels: readonly Level[];
  /** Of nodes that add a level; the others have their parent's. */
  #levels: WeakMap<Invocation, readonly Level[]> | undefined;

  constructor(parts: PermissionParts) {
    const { permissions, rules, scopes } = parts.options;
    this.#parts = parts;
    this.endorse = endorsements(parts);
    this.#plans = permissions.plans === true ? new Plans() : undefined;
    const above = parts.child?.grant.levels.map(({ rules, ...level }) => ({
      ...level,
      rules: parseRules([...rules], 'grant'),
    }));
    const [run = { source: 'run', rules, mode: permissions.mode }, ...rest] = above ?? [];
    this.#runRules = [...run.rules];
    this.#runLevels = [{ ...run, rules: this.#runRules }, ...scopes, ...rest];
  }

  /** Restores the rules that people allowed for always in earlier epochs. */
  remember(rows: readonly TypedRow[], tools: Iterable<Tool>): void {
    this.#plans?.remember(rows);
    const shown = new Map<string, ApprovalRequest>();
    const byName = new Map([...tools].map((tool) => [tool.name, tool]));
    for (const row of rows) {
      if (row.kind !== 'wait') continue;
      const { key } = row;
      if (row.event === 'started' && row.request.reason !== 'wait') shown.set(key, row.request);
      const asked = shown.get(key);
      const tool = asked && byName.get(asked.tool);
      if (row.event !== 'done' || asked === undefined || tool === undefined) continue;
      const answer = row.value;
      if (answer.decision !== 'allow' || answer.always !== true) continue;
      const checked = checkDecision(answer, asked, tool, 0);
      if (checked.verdict === 'allow' && checked.rule !== undefined) this.#runRules.push(parseRule(checked.rule));
    }
  }

  /** The levels of a new invocation: its parent's, then its delegate's, then its own. They only narrow. */
  enter(self: Invocation, delegate: Delegate | undefined): void {
    const above = this.#levelsOf(self.parent);
    const levels = levelsOf(above, self, delegate);
    if (levels === above) return;
    this.#levels ??= new WeakMap();
    this.#levels.set(self, levels);
  }

  #levelsOf(self: Invocation | undefined): readonly Level[] {
    if (this.#levels === undefined) return this.#runLevels;
    for (let node = self; node !== undefined; node = node.parent) {
      const levels = this.#levels.get(node);
      if (levels !== undefined) return levels;
    }
    return this.#runLevels;
  }

  permit(query: PermitQuery): Permit | Promise<Permit> {
    const { tool, self } = query;
    const levels = this.#levelsOf(self);
    // Where no level says anything, a read needs no look at rules.
    const silent = levels === this.#runLevels && levels.length === 1 && this.#runRules.length === 0;
    if (silent && !ACCESS_FACTS[tool.access].hasEffect && tool.needsApproval === false) {
      return { ok: true, args: query.args };
    }
    const denied = this.#parts.journal.recall('decision', `${query.key}/@approval`)?.value;
    if (denied !== undefined) return { ok: false, error: denial(tool, denied.reason ?? 'denied', []) };
    const verdict = this.#decide(query, levels);
    // A person was asked before: the stricter answer holds, whatever the rules say now.
    if (verdict.verdict === 'allow' && this.#parts.journal.has(`${query.key}/@approval`)) {
      return this.#ask(query, { verdict: 'ask', reason: 'rule', suggest: [] });
    }
    switch (verdict.verdict) {
      case 'allow':
        return { ok: true, args: query.args, rule: verdict.rule };
      case 'deny':
        return this.#deny(query, verdict.reason, verdict);
      case 'ask':
        return this.#planned(query, levels, verdict) ?? this.#ask(query, verdict);
    }
  }

  /**
   * Allows a planned call where the flow or the mode would ask, not where a rule or the tool does. Sending what is private is asked for
   * all the same.
   */
  #planned(query: PermitQuery, levels: readonly Level[], asked: Ask): Permit | Promise<Permit> | undefined {
    const { self, key, tool, args, label } = query;
    const isOpen = ACCESS_FACTS[tool.access].sends && label.confidentiality !== 'public';
    const isOfMode = asked.reason === 'flow' || asked.reason === 'risk';
    // A request that a person has seen is answered by that person.
    if (this.#plans === undefined || isOpen || !isOfMode || this.#parts.journal.has(`${key}/@approval`))
      return undefined;
    const rest = this.#decide({ ...query, label: { ...label, integrity: 'trusted' } }, levels);
    if (rest.verdict === 'ask' && rest.reason !== 'risk') return this.#ask(query, rest);
    const rule = this.#plans.take(self, key, tool.name, args);
    return rule === undefined ? undefined : { ok: true, args, rule };
  }

  restriction(self: Invocation, tool: Tool, args: Json, other: string): Restriction | undefined {
    const { ruleArg } = tool;
    const given = ruleArg !== undefined && isPlainObject(args) ? args[ruleArg] : undefined;
    return restrictionBy(this.#levelsOf(self), tool, given, { name: other });
  }

  /** The levels of a node without that of its own definition. */
  levelsAbove(self: Invocation): readonly Level[] {
    const levels = this.#levelsOf(self);
    return saysSomething(self.definition.permissions) ? levels.slice(0, -1) : levels;
  }

  /** The tools that every cap above allows. */
  allowed(self: Invocation, tools: readonly Tool[]): readonly Tool[] {
    const caps = this.#levelsOf(self).flatMap((level) => (level.tools === undefined ? [] : [level.tools]));
    if (caps.length === 0) return tools;
    return tools.filter((tool) => caps.every((cap) => cap.some((name) => namesTool({ tool: name }, tool))));
  }

  /** Scoped rules on tools that were not known when the run began. Throws a ConfigurationError where such a rule could never hold. */
  checkOffered(self: Invocation, tools: readonly Tool[]): void {
    for (const { source, rules } of this.#levelsOf(self))
      checkRules(rules, tools, `${source}.permissions.rules`, 'any');
  }

  #decide(query: PermitQuery, levels: readonly Level[]): Verdict {
    const { tool, args, label, self, step } = query;
    let needsApproval: unknown;
    try {
      const about = { path: self.path, agent: self.agent, step };
      needsApproval =
        typeof tool.needsApproval === 'function' ? tool.needsApproval(args as never, about) : tool.needsApproval;
    } catch (thrown) {
      return { verdict: 'deny', reason: `needsApproval threw: ${messageOf(thrown)}`, suggest: [] };
    }
    if (typeof needsApproval !== 'boolean') {
      // A promise is the likely mistake: it must not count as "no", nor reject unhandled.
      if (needsApproval instanceof Promise) needsApproval.catch(() => {});
      return { verdict: 'deny', reason: 'needsApproval must give true or false, and at once', suggest: [] };
    }
    return decide({ tool, needsApproval, args: args as { [key: string]: Json }, label, levels });
  }

  async #ask(query: PermitQuery, verdict: Ask): Promise<Permit> {
    const { key, self, step, tool, args, label } = query;
    const { id: runId, options, waits } = this.#parts;
    const { permissions } = options;
    const expiresAt = permissions.expiresMs === undefined ? undefined : Date.now() + permissions.expiresMs;
    const { reason, rule } = verdict;
    const ask = {
      id: this.#idOf(`${key}/@approval`, tool, args),
      runId,
      path: self.path,
      agent: self.agent,
      tool,
      args,
      reason,
      rule,
      label,
      change: changeOf(tool, args),
      expiresAt,
    };
    const request = approvalRequest(ask);
    const waiting = putRequest(this.#parts, request, self, step);
    const isNew = waits.get(request.id) !== undefined;
    const answer = await waiting;
    if (!answer.ok) return answer;
    const checked = checkDecision(answer.value, request, tool, Date.now());
    if (checked.verdict === 'deny') {
      const isUnattended = answer.value.decision === 'deny' && answer.value.reason === UNATTENDED;
      return { ok: false, error: denial(tool, checked.reason, isUnattended ? verdict.suggest : []) };
    }
    if (checked.verdict === 'resolved')
      return { ok: false, error: denial(tool, 'the answer is none to an approval', []) };
    if (checked.argsHash !== request.argsHash) {
      // A person may change arguments without a new approval, but a deny rule holds for these as well.
      const anew = this.#decide({ ...query, args: checked.args }, this.#levelsOf(self));
      if (anew.verdict === 'deny') return { ok: false, error: denial(tool, anew.reason, []) };
    }
    if (checked.rule !== undefined) this.#always(checked.rule, isNew);
    return { ok: true, args: checked.args };
  }

  /** Adds a rule that a person allowed for always: for the rest of the run, and where it is new, in the project's file. */
  #always(rule: string, isNew: boolean): void {
    if (!this.#runRules.some(({ text }) => text === rule)) this.#runRules.push(parseRule(rule));
    const project = this.#parts.options.permissions.files?.project;
    if (!isNew || project === undefined) return;
    try {
      writeRule(project, rule);
    } catch (thrown) {
      // It holds for this run; the process warns that it is not stored.
      process.emitWarning(messageOf(thrown), { code: 'COXSWAIN_PERMISSIONS' });
    }
  }

  /** A new address where another tool or other arguments were shown before: that approval does not count for this call. */
  #idOf(id: string, tool: Tool, args: Json): string {
    const shown = this.#parts.journal.recallStart('wait', id)?.request;
    const now = argsHash(args);
    if (shown === undefined || (shown.reason !== 'wait' && shown.toolHash === tool.hash && shown.argsHash === now))
      return id;
    return `${id}~${sha256(`${tool.hash}|${now}`).slice(0, 8)}`;
  }

  /** Asks whether a call happened that was under way when its process died. An answer holds for one attempt. */
  async askOutcome(call: Call<never>, attempt: number): Promise<Outcome<Decision>> {
    // Every other effect has `onUnknownOutcome: 'retry'`.
    if (!(call instanceof ToolCallEffect)) throw new Error(`${call.key}: only a tool call may ask for its outcome`);
    const { key, self, step, tool, in: facts } = call;
    const { id: runId } = this.#parts;
    const { args } = facts;
    const id = this.#idOf(attempt === 1 ? `${key}/@doubt` : `${key}/@doubt.${attempt}`, tool, args);
    const about = { id, runId, path: self.path, agent: self.agent };
    const request = approvalRequest({ ...about, tool, args, reason: 'unknown', label: self.label });
    const answer = await putRequest(this.#parts, request, self, step);
    if (!answer.ok) return answer;
    const checked = checkDecision(answer.value, request, tool, Date.now());
    return { ok: true, value: checked.verdict === 'resolved' ? checked.decision : { decision: 'deny' } };
  }

  #deny(
    { key, self, step, tool, callId }: PermitQuery,
    reason: string,
    { rule, suggest }: { rule?: string; suggest: readonly string[] },
  ): Permit {
    const value = { decision: 'deny', reason, ...(rule !== undefined && { rule }), tool: tool.name, callId } as const;
    const entry = envelope(self, `${key}/@approval`, { step });
    this.#parts.journal.note({ ...entry, kind: 'decision', event: 'done', value });
    return { ok: false, error: denial(tool, reason, suggest) };
  }
}

/** The preview of a call. The request has the arguments as well, so one that fails hides nothing. */
function changeOf({ preview }: Tool, args: Json): string | undefined {
  try {
    const change: unknown = preview?.(args as never);
    return typeof change === 'string' && change !== '' ? change.slice(0, MAX_CHANGE_CHARS) : undefined;
  } catch {
    return undefined;
  }
}

const MAX_CHANGE_CHARS = 20_000;
