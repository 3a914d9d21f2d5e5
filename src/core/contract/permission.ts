import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Access, Risk } from './access.ts';

/** Every mode. */
export const PERMISSION_MODES = ['ask', 'plan', 'acceptWrites', 'unattended', 'acceptAll'] as const;

/**
 * How calls that no rule decides are judged; reading is always allowed. No mode skips the steps before it.
 * `ask` (default) asks; `plan` denies; `acceptWrites` allows `write` and asks for the rest; `acceptAll` allows; `unattended`
 * is `ask` without a person: every ask is a denial.
 */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** What an agent, a delegate or a run says about its calls. */
export interface Permissions {
  /** `allow | allow! | ask | deny`, a tool or `*`, and if wanted `:` and a glob for the tool's `ruleArg`. */
  readonly rules?: readonly string[] | undefined;
  readonly mode?: PermissionMode | undefined;
}

/** What a run says about its calls: the only level that can trust results. */
export interface RunPermissions extends Permissions {
  /** Tools whose results count as trusted. */
  readonly trust?: readonly string[] | undefined;
  /** How long an approval stays open, in milliseconds; default: no end. */
  readonly expiresMs?: number | undefined;
  /**
   * Tools whose results are put to a person once (reason `data`): a yes makes that result trusted, so that no later effect is asked for
   * because of it. What the person overlooks steers whatever follows.
   */
  readonly endorse?: readonly string[] | undefined;
  /**
   * Gives every agent that a model drives the tool `pin_plan`: calls said before anything of a stranger's was read, each of which may then be
   * made once without being asked for by the flow or the mode. What a plan leaves open is chosen by the authors of what is read later. Default false.
   */
  readonly plans?: boolean | undefined;
  /**
   * Files with rules and a mode of their own, read when the run starts or is resumed: `{ project: 'coxswain.json' }`. The strictest of
   * code, project and user counts. What a person's `always` allows is written to the project's.
   */
  readonly files?: PermissionFiles | undefined;
}

/** Paths of files of permissions; a file that is not there says nothing. */
export interface PermissionFiles {
  readonly project?: string | undefined;
  readonly user?: string | undefined;
}

/**
 * Why a person is asked: a rule, the label of the call's context, its access, its tool's `needsApproval`, an unknown outcome, or
 * whether what a tool gave may count as trusted (`data`).
 */
export type AskReason = 'rule' | 'flow' | 'risk' | 'tool' | 'unknown' | 'data';

/** A call that waits for a person. What is shown here is what runs. */
export interface ApprovalRequest {
  /** The address of the wait, for `run.decide`. */
  readonly id: string;
  readonly runId: string;
  readonly path: string;
  readonly agent: string;
  readonly tool: string;
  readonly args: Json;
  readonly risk: Risk;
  readonly access: Access;
  readonly reason: AskReason;
  /** The rule that asked. */
  readonly rule?: string;
  readonly label: Label;
  readonly argsHash: string;
  readonly toolHash: string;
  /** What the tool says it would change, line by line, as its `preview` gave it. */
  readonly change?: string;
  /** The rule that an `always` writes, where it may be answered so. */
  readonly always?: string;
  /** ISO 8601, UTC. */
  readonly expiresAt?: string;
}

/** A procedure's `ctx.wait`: a question to a person or another process. */
export interface WaitRequest {
  readonly id: string;
  readonly runId: string;
  readonly path: string;
  readonly agent: string;
  readonly reason: 'wait';
  readonly request: Json;
  readonly expiresAt?: string;
}

/** The answer to a request: `allow` or `deny` to an approval, `answer` to a question, the others to a call whose outcome is unknown. */
export type Decision =
  | {
      readonly decision: 'allow' | 'deny';
      readonly reason?: string;
      /** Other arguments to run with; validated and hashed anew. */
      readonly args?: Json;
      /** Also writes a rule for the tool's `ruleArg`. */
      readonly always?: boolean;
    }
  | { readonly decision: 'happened'; readonly value?: Json }
  | { readonly decision: 'retry' | 'failed' }
  | { readonly decision: 'answer'; readonly value: Json };

/** The answer of the permission step. `rule` is the rule that decided; `suggest` are lines that would allow it, ready to paste. */
export type Verdict =
  | { readonly verdict: 'allow'; readonly rule?: string }
  | { readonly verdict: 'ask'; readonly reason: AskReason; readonly rule?: string; readonly suggest: readonly string[] }
  | { readonly verdict: 'deny'; readonly reason: string; readonly rule?: string; readonly suggest: readonly string[] };
