import { ACCESS_FACTS, type Access, type Risk } from '../core/contract/access.ts';
import type { ApprovalRequest, AskReason, Decision } from '../core/contract/permission.ts';
import { issueText } from '../core/schema/issue-text.ts';
import type { Schema } from '../core/schema/schema.ts';
import { strictJson } from '../core/schema/strict-json.ts';
import { messageOf } from '../core/values/errors.ts';
import { canonical, deepFreeze, isPlainObject, type Json, sha256 } from '../core/values/json.ts';
import type { Label } from '../core/values/label.ts';
import type { RuledTool } from './rules.ts';
import { scopedRule } from './suggest.ts';

/** What an approval needs to know of a tool. */
export interface ApprovedTool extends RuledTool {
  readonly access: Access;
  readonly risk: Risk;
  readonly hash: string;
  readonly input: Schema;
}

/** A checked answer: run with these arguments, or do not. */
export type CheckedDecision =
  | {
      readonly verdict: 'allow';
      readonly args: Json;
      readonly argsHash: string;
      /** The rule that `always` writes. */
      readonly rule?: string;
    }
  | { readonly verdict: 'deny'; readonly reason: string }
  /** A person's decision about a call whose outcome is unknown. */
  | {
      readonly verdict: 'resolved';
      readonly decision: Extract<Decision, { decision: 'happened' | 'retry' | 'failed' }>;
    };

/** SHA-256 of arguments as they are recorded: what an approval is bound to. */
export function argsHash(args: unknown): string {
  return sha256(canonical(JSON.parse(JSON.stringify(args ?? null))));
}

/** The request that a person is shown. Frozen: what is shown is what runs. */
export function approvalRequest(ask: {
  readonly id: string;
  readonly runId: string;
  readonly path: string;
  readonly agent: string;
  readonly tool: ApprovedTool;
  readonly args: Json;
  readonly reason: AskReason;
  readonly rule?: string | undefined;
  readonly label: Label;
  /** The result of the tool's `preview` for the arguments. */
  readonly change?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}): ApprovalRequest {
  const { id, runId, path, agent, tool, reason, rule, label, change, expiresAt } = ask;
  // A copy, so that neither the caller's object nor what `approve` gets can change the other.
  const args = JSON.parse(JSON.stringify(ask.args)) as Json;
  const always = reason === 'flow' || reason === 'unknown' || reason === 'data' ? undefined : alwaysRule(tool, args);
  return deepFreeze({
    ...{ id, runId, path, agent, tool: tool.name, args, risk: tool.risk, access: tool.access, reason },
    ...(rule !== undefined && { rule }),
    ...{ label, argsHash: argsHash(args), toolHash: tool.hash },
    ...(change !== undefined && { change }),
    ...(always?.startsWith('allow ') && { always: always }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  });
}

/**
 * Checks an answer from a callback, a person or another process. Anything but a decision becomes a denial with its cause, and so
 * does a decision that no longer fits: another tool definition, other arguments than shown, too late.
 *
 * @param now milliseconds since 1970, when the answer came.
 */
export function checkDecision(
  answer: unknown,
  request: ApprovalRequest,
  tool: ApprovedTool,
  now: number,
): CheckedDecision {
  const decision = readDecision(answer);
  if (typeof decision === 'string') return deny(`not a decision: ${decision}`);
  if (decision.decision === 'deny') return deny(decision.reason ?? 'denied by a person');
  if (request.expiresAt !== undefined && now >= Date.parse(request.expiresAt))
    return deny('the approval came too late');
  if (request.tool !== tool.name || request.toolHash !== tool.hash) {
    return deny('the tool is not the one that was shown: its definition changed');
  }
  if (request.reason === 'unknown') return resolve(decision);
  if (decision.decision !== 'allow') {
    return deny(`not a decision: '${decision.decision}' does not answer this request; allow or deny would`);
  }
  if (request.reason === 'data' && (decision.args !== undefined || decision.always === true))
    return deny('not a decision: what a tool gave is trusted as it is, or not');
  if (request.argsHash !== argsHash(request.args)) return deny('the arguments are not the ones that were shown');
  const args = decision.args === undefined ? request.args : validArgs(decision.args, tool.input);
  if (args instanceof Refusal) return deny(args.reason);
  if (decision.always !== true) return { verdict: 'allow', args, argsHash: argsHash(args) };
  // No such rule was shown, and no rule may allow a call that untrusted data led to.
  if (request.reason === 'flow') return deny("'always' is refused: what a flow asks for is allowed once");
  const rule = alwaysRule(tool, args);
  return rule.startsWith('allow ') ? { verdict: 'allow', args, argsHash: argsHash(args), rule } : deny(rule);
}

/** A call whose outcome is unknown cannot be repeated by an accidental `allow`: the answer must state the outcome. */
function resolve(decision: Decision): CheckedDecision {
  switch (decision.decision) {
    case 'happened':
    case 'retry':
    case 'failed':
      return { verdict: 'resolved', decision };
    default:
      return deny(
        `not a decision: '${decision.decision}' does not answer this request; happened, retry or failed would`,
      );
  }
}

/** A valid decision, or the problem as a text. Unknown fields are refused, since `argz` is likely a mistake. */
export function readDecision(answer: unknown): Decision | string {
  if (!isPlainObject(answer)) return `expected an object with 'decision'`;
  // A copy: each member is read once, so that the checked value is the used one.
  const read: Record<string, unknown> = { ...answer };
  const { decision } = read;
  const allowed = typeof decision === 'string' && Object.hasOwn(FIELDS, decision) ? FIELDS[decision] : undefined;
  if (allowed === undefined) return `'decision' must be one of ${Object.keys(FIELDS).join(', ')}`;
  for (const [key, value] of Object.entries(read)) {
    if (key === 'decision' || value === undefined) continue;
    if (!allowed.includes(key)) return `unknown field '${key.slice(0, 40)}'`;
    if (key === 'reason' && typeof value !== 'string') return `'reason' must be a string`;
    if (key === 'always' && typeof value !== 'boolean') return `'always' must be true or false`;
  }
  if (decision === 'answer' && read.value === undefined) return `'value' is missing`;
  return Object.freeze(read) as Decision;
}

const FIELDS: Record<string, readonly string[]> = {
  allow: ['reason', 'args', 'always'],
  deny: ['reason', 'args', 'always'],
  happened: ['value'],
  retry: [],
  failed: [],
  answer: ['value'],
};

class Refusal {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Arguments that a person changed are judged as a model's are. */
function validArgs(args: unknown, schema: Schema): Json | Refusal {
  let text: string | undefined;
  try {
    text = JSON.stringify(args);
  } catch (thrown) {
    return new Refusal(`the changed arguments are no JSON: ${messageOf(thrown).slice(0, 100)}`);
  }
  const parsed = strictJson(text ?? '');
  if (!parsed.ok) return new Refusal(`the changed arguments are refused: ${parsed.message}`);
  const validation = schema.validate(parsed.value);
  if (!validation.ok) return new Refusal(`the changed arguments do not fit: ${issueText(validation.issues)}`);
  return deepFreeze(validation.value as Json);
}

/** The rule that `always` writes for this very value, or why it cannot. */
function alwaysRule(tool: ApprovedTool, args: Json): string {
  if (!ACCESS_FACTS[tool.access].mayAlways) {
    return `'always' is refused for a tool of access '${tool.access}': each such call is asked for`;
  }
  if (tool.ruleArg === undefined) return `'always' is refused: ${tool.name} has no ruleArg to write a rule on`;
  const rule = isPlainObject(args) ? scopedRule(tool, args) : undefined;
  return rule ?? `'always' is refused: no rule can say this value of ${tool.ruleArg}`;
}

function deny(reason: string): CheckedDecision {
  return { verdict: 'deny', reason };
}
