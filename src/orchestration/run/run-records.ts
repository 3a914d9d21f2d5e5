import type { AgentOut, RunIn } from '../../core/contract/boundary.ts';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import type { Draft, Span } from '../../core/contract/record.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import { envelope } from '../../core/runtime/envelope.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { costUsd } from '../../core/values/spending.ts';
import type { InitialInput } from './initial-input.ts';
import type { ModelFacts } from './tree-models.ts';

const RUN_KEY = '@run';

/** The span of the run, above all invocations. */
export function runSpan(): Span {
  return { key: RUN_KEY, parent: undefined, handle: undefined };
}

export function runStarted(root: Invocation, span: Span, request: RunIn): Draft {
  return { ...envelope(root, RUN_KEY, { step: 0, span }), kind: 'run', event: 'started', request };
}

export function runDone(
  root: Invocation,
  span: Span,
  { status, text, error, label }: AgentOutcome,
  since: bigint,
  tree: {
    readonly count: { readonly steps: number; readonly toolCalls: number };
    readonly parking: { readonly parked: readonly (ApprovalRequest | WaitRequest)[] };
  },
): Draft {
  const { steps, toolCalls } = tree.count;
  const value = {
    ...{ status, text, label, ...spentBy(root), steps, toolCalls },
    ...(error !== undefined && { error }),
    ...(status === 'suspended' && { pending: tree.parking.parked }),
  };
  const entry = { ...envelope(root, RUN_KEY, { span }), since };
  return { ...entry, kind: 'run', event: status === 'suspended' ? 'suspended' : 'done', value };
}

/** `model` is absent for code. */
export function agentStarted(self: Invocation, { brief, value }: InitialInput, model: ModelFacts | undefined): Draft {
  const { definition, depth, waitedMs } = self;
  const { description, type } = definition;
  // Its name in stored records.
  const apart = self.delegate?.detached && ({ apart: true } as const);
  const facts = { agent: self.agent, description, type, brief, depth, ...apart };
  const entry = { ...envelope(self, self.path, { step: 0 }), ...(waitedMs > 0 && { waitedMs }) };
  const request = type === 'code' ? { ...facts, input: value } : { ...facts, ...model };
  return { ...entry, kind: 'agent', event: 'started', request };
}

export function agentDone(self: Invocation, { status, text, error }: AgentOutcome): Draft {
  const { step, since } = self;
  const toolCalls = self.toolCalls + self.codeCalls;
  const value = { status, text, ...spentBy(self), steps: step, toolCalls, ...(error !== undefined && { error }) };
  return { ...envelope(self, self.path), since, kind: 'agent', event: 'done', value };
}

export function stopNote(
  root: Invocation,
  epoch: number,
  path: string,
  { status, reason }: { readonly status: 'cancelled' | 'timeout'; readonly reason: string },
): Draft {
  const at = { step: 0, attempt: epoch };
  return { ...envelope(root, `${path}/@cancel`, at), kind: 'stop', event: 'done', value: { path, status, reason } };
}

export function divergedNote(self: Invocation, key: string, epoch: number, parts: readonly string[]): Draft {
  return {
    ...envelope(self, `${key}/@diverged`, { attempt: epoch }),
    kind: 'diverged',
    event: 'done',
    value: { parts },
  };
}

/** Of itself, and of its subtree. */
function spentBy(node: Invocation): Pick<AgentOut, 'ownUsage' | 'usage' | 'costUsd'> {
  const spending = node.treeSpending();
  const cost = costUsd(spending);
  return { ownUsage: node.usage, usage: spending.usage, ...(cost !== undefined && { costUsd: cost }) };
}
