import type { ApprovalRequest, WaitRequest } from '../contract/permission.ts';
import type { RunResult, Spent, TreeNode } from '../contract/result.ts';
import type { AgentError, ErrorRecord } from '../values/errors.ts';
import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';
import { addSpending, costUsd, NOTHING_SPENT, type Spending, spendingOf } from '../values/spending.ts';
import { STATUSES, type Status } from '../values/status.ts';
import type { Invocation } from './invocation.ts';

/** How an invocation ended. `error` is there unless it completed. */
export interface AgentOutcome {
  readonly self: Invocation;
  readonly status: Status;
  readonly text: string;
  readonly output?: unknown;
  readonly error?: ErrorRecord;
  readonly messages: readonly Message[];
  readonly label: Label;
}

const FAILURES: ReadonlySet<unknown> = new Set(STATUSES.filter((status) => status !== 'completed'));

/** How the agent of an AgentError ended; undefined where its `result` says nothing of that: anybody can make such an error. */
export function failedAgent(
  thrown: AgentError,
): { readonly status: Status; readonly text: string; readonly error: ErrorRecord } | undefined {
  if (typeof thrown.result !== 'object' || thrown.result === null) return undefined;
  const { status, text, error } = thrown.result as { status: Status; text?: unknown; error?: Partial<ErrorRecord> };
  if (!FAILURES.has(status)) return undefined;
  const { kind = status, message = 'no cause given', retryable } = error ?? {};
  const cause = { kind: String(kind), message: String(message), retryable: retryable === true };
  return { status, text: typeof text === 'string' ? text : '', error: cause };
}

/** The result of an invocation: its subtree's sums, and what its status brings. */
export function agentResult(
  outcome: AgentOutcome,
  run: { readonly id: string; readonly traceId: string },
  pending: readonly (ApprovalRequest | WaitRequest)[] = [],
): RunResult {
  const { self, status, text, messages } = outcome;
  const byAgent = new Map<string, Spending>();
  const byModel = new Map<string, Spending>();
  let steps = 0;
  let toolCalls = 0;
  walk(self, (node) => {
    if (node.detached !== undefined) {
      steps += node.detached.steps;
      toolCalls += node.detached.toolCalls;
      for (const [agent, spent] of Object.entries(node.detached.byAgent)) addTo(byAgent, agent, spendingOf(spent));
      for (const [model, spent] of Object.entries(node.detached.byModel)) addTo(byModel, model, spendingOf(spent));
      return;
    }
    steps += node.step;
    toolCalls += node.toolCalls + node.codeCalls;
    if (node.model === undefined) return;
    addTo(byAgent, node.agent, node.spending);
    if (node.elsewhere === undefined || node.here.usage.modelCalls > 0) addTo(byModel, node.model, node.here);
    for (const [model, spending] of node.elsewhere ?? []) addTo(byModel, model, spending);
  });
  const tree = treeOf(self);
  const facts = {
    runId: run.id,
    traceId: run.traceId,
    text,
    messages,
    usage: tree.usage,
    ...(tree.costUsd !== undefined && { costUsd: tree.costUsd }),
    steps,
    toolCalls,
    tree,
    byAgent: spentBy(byAgent),
    byModel: spentBy(byModel),
  };
  if (status === 'completed') return { ...facts, status, output: outcome.output };
  if (status === 'suspended') return { ...facts, status, pending };
  const { kind, message, retryable } = outcome.error ?? { kind: status, message: status, retryable: false };
  return { ...facts, status, error: { kind, message, retryable } };
}

export function treeOf(node: Invocation): TreeNode {
  const { path, agent, status, step } = node;
  const waiting = status === 'running' && node.waiting > 0 && node.busy === 0;
  const spending = node.treeSpending();
  const cost = costUsd(spending);
  return {
    path,
    agent,
    status: waiting ? 'waiting' : status,
    step,
    usage: spending.usage,
    ...(cost !== undefined && { costUsd: cost }),
    children: node.detached?.tree.children ?? node.children.map(treeOf),
  };
}

function walk(node: Invocation, visit: (node: Invocation) => void): void {
  visit(node);
  for (const child of node.children) walk(child, visit);
}

function addTo(sums: Map<string, Spending>, name: string, spending: Spending): void {
  const before = sums.get(name) ?? NOTHING_SPENT;
  sums.set(name, addSpending(before, spending) ?? before);
}

function spentBy(sums: Map<string, Spending>): Record<string, Spent> {
  const entries = [...sums].map(([name, spending]): [string, Spent] => {
    const cost = costUsd(spending);
    return [name, cost === undefined ? { usage: spending.usage } : { usage: spending.usage, costUsd: cost }];
  });
  return Object.fromEntries(entries);
}
