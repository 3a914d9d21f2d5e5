import type { ErrorRecord } from './errors.ts';
import type { Invocation } from './invocation.ts';
import type { Label } from './label.ts';
import type { Message } from './message.ts';
import type { ApprovalRequest, WaitRequest } from './permission.ts';
import type { Status } from './status.ts';
import { addUsage, NO_USAGE, type Usage } from './usage.ts';

/** How an invocation ended. `error` is there unless it completed. */
export interface Ending {
  readonly self: Invocation;
  readonly status: Status;
  readonly text: string;
  readonly output?: unknown;
  readonly error?: ErrorRecord;
  readonly messages: readonly Message[];
  readonly label: Label;
}

/** A node of the tree as it stands. Usage is that of its subtree. */
export interface TreeNode {
  readonly path: string;
  readonly agent: string;
  readonly status: Status | 'running' | 'waiting';
  readonly step: number;
  readonly usage: Usage;
  readonly costUsd?: number;
  readonly children: readonly TreeNode[];
}

/** What an agent or a model spent in a run. */
export interface Spent {
  readonly usage: Usage;
  readonly costUsd?: number;
}

interface ResultFacts {
  readonly runId: string;
  /** Of this epoch. */
  readonly traceId: string;
  /** The last text of the root. */
  readonly text: string;
  /** The root's transcript; it can always be sent again. */
  readonly messages: readonly Message[];
  /** Of the whole tree, like steps and toolCalls. */
  readonly usage: Usage;
  readonly costUsd?: number;
  readonly steps: number;
  readonly toolCalls: number;
  readonly tree: TreeNode;
  readonly byAgent: { readonly [agent: string]: Spent };
  /** By `provider/id`. */
  readonly byModel: { readonly [model: string]: Spent };
}

/** What a run gave. It is data, also where it failed. */
export type RunResult<Output = unknown> = ResultFacts &
  (
    | { readonly status: 'completed'; readonly output: Output }
    | { readonly status: 'suspended'; readonly pending: readonly (ApprovalRequest | WaitRequest)[] }
    | {
        readonly status: Exclude<Status, 'completed' | 'suspended'>;
        readonly error: { readonly kind: string; readonly message: string; readonly retryable: boolean };
      }
  );

/** The result of an invocation: its subtree's sums, and what its status brings. */
export function agentResult(
  ending: Ending,
  run: { readonly id: string; readonly traceId: string },
  pending: readonly (ApprovalRequest | WaitRequest)[] = [],
): RunResult {
  const { self, status, text, messages } = ending;
  const byAgent: Record<string, Spent> = {};
  const byModel: Record<string, Spent> = {};
  let steps = 0;
  let toolCalls = 0;
  walk(self, (node) => {
    steps += node.step;
    toolCalls += node.toolCalls;
    if (node.model === undefined) return;
    addTo(byAgent, node.agent, node.usage);
    addTo(byModel, node.model, node.usage);
  });
  const tree = treeOf(self);
  const facts = {
    runId: run.id,
    traceId: run.traceId,
    text,
    messages,
    usage: tree.usage,
    steps,
    toolCalls,
    tree,
    byAgent,
    byModel,
  };
  if (status === 'completed') return { ...facts, status, output: ending.output };
  if (status === 'suspended') return { ...facts, status, pending };
  const { kind, message, retryable } = ending.error ?? { kind: status, message: status, retryable: false };
  return { ...facts, status, error: { kind, message, retryable } };
}

export function treeOf(node: Invocation): TreeNode {
  const { path, agent, status, step } = node;
  const waiting = status === 'running' && node.waiting > 0 && node.busy === 0;
  return {
    path,
    agent,
    status: waiting ? 'waiting' : status,
    step,
    usage: node.treeUsage(),
    children: node.children.map(treeOf),
  };
}

function walk(node: Invocation, visit: (node: Invocation) => void): void {
  visit(node);
  for (const child of node.children) walk(child, visit);
}

function addTo(sums: Record<string, Spent>, name: string, usage: Usage): void {
  const before = Object.hasOwn(sums, name) ? sums[name]?.usage : undefined;
  const sum = addUsage(before ?? NO_USAGE, usage);
  if (sum !== undefined) sums[name] = { usage: sum };
}
