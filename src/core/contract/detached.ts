import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { AgentLimits, Limits } from '../values/limits.ts';
import { toPicoUsd } from '../values/spending.ts';
import type { Status } from '../values/status.ts';
import type { Usage } from '../values/usage.ts';
import type { SpanAbove } from './instrument.ts';
import type { ApprovalRequest, Decision, PermissionMode, WaitRequest } from './permission.ts';
import type { ParentStep } from './record.ts';
import type { Spent, TreeNode } from './result.ts';

/** What one level above says of calls below it: the run's options, a delegate's, a definition. */
export interface GrantedLevel {
  readonly source: 'run' | 'project' | 'user' | 'delegate' | 'agent';
  /** As they were written. */
  readonly rules: readonly string[];
  readonly mode?: PermissionMode;
  /** The only tools that may be called. */
  readonly tools?: readonly string[];
}

/** What a detached child may spend, call and see: carved out of what its parent has, reserved there, and all of it JSON. */
export interface Grant {
  /** Of its whole tree. */
  readonly limits: Limits;
  /** Of its root, as its delegate narrows them. */
  readonly own: AgentLimits;
  /** Permissions of all above it, the outermost first; its own definition's come on top. */
  readonly levels: readonly GrantedLevel[];
  /** Tools whose results count as trusted. */
  readonly trust: readonly string[];
  /** Of its brief. */
  readonly label: Label;
  readonly shared: { readonly values: { readonly [key: string]: Json }; readonly label: Label };
  /** Names of the agents above: none of them may stand below. */
  readonly above: readonly string[];
}

/** A child that may run in another process: by name and JSON, never a closure. */
export interface DetachedChild {
  /** The id of the run that it is: the same at each attempt, so the process that has begun it continues it. */
  readonly run: string;
  /** Its parent: the run it belongs to, its address there, and the model step that asked for it. */
  readonly parent: { readonly run: string; readonly key: string; readonly step?: ParentStep };
  readonly agent: string;
  readonly input: Json;
  readonly grant: Grant;
  /** The span it runs below, where its parent is traced. */
  readonly span?: SpanAbove;
  /** What people answered to what it was waiting for, by the ids that it gave. */
  readonly answers: readonly { readonly id: string; readonly decision: Decision }[];
}

/** How a detached child ended, or what it waits for. Sums are those of its whole tree from its start; addresses begin with its name. */
export interface DetachedOutcome {
  readonly status: Status;
  readonly text: string;
  readonly output?: Json;
  readonly error?: ErrorRecord;
  readonly label: Label;
  readonly usage: Usage;
  readonly costUsd?: number;
  /** What its own ledger charged it for, under caps: what was reported, and estimates where nothing was. */
  readonly charged?: Charged;
  readonly steps: number;
  readonly toolCalls: number;
  readonly tree: TreeNode;
  readonly byAgent: { readonly [agent: string]: Spent };
  readonly byModel: { readonly [model: string]: Spent };
  /** With `suspended`: the requests that a person must answer before it continues. */
  readonly pending: readonly (ApprovalRequest | WaitRequest)[];
}

/** What a run was charged for under its caps. */
export interface Charged {
  readonly tokens?: number;
  /** In whole picodollars. */
  readonly picoUsd?: number;
  /** What of it holds estimates. */
  readonly estimated?: readonly ('tokens' | 'picoUsd')[];
}

/** What a detached child costs under the caps above it. */
export function chargedFor({ charged, usage, costUsd = 0 }: DetachedOutcome): {
  readonly tokens: number;
  readonly picoUsd: number;
} {
  const { tokens = usage.inputTokens + usage.outputTokens, picoUsd = toPicoUsd(costUsd) } = charged ?? {};
  return { tokens, picoUsd };
}

/**
 * Runs a detached child, wherever that is. An abort of the signal interrupts it; it may be asked for again. So it is where it was interrupted
 * there: an outcome that is `aborted` while the signal is not.
 */
export type RunDetached = (child: DetachedChild, signal: AbortSignal) => Promise<DetachedOutcome>;

/** How many invocations a tree has. */
export function nodesOf({ children }: TreeNode): number {
  return children.reduce((sum, child) => sum + nodesOf(child), 1);
}
