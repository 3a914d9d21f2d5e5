import type { Message } from '../values/message.ts';
import type { Status } from '../values/status.ts';
import type { Usage } from '../values/usage.ts';
import type { ApprovalRequest, WaitRequest } from './permission.ts';

/** A node of the tree as it is now. Usage is that of its subtree. */
export interface TreeNode {
  readonly path: string;
  readonly agent: string;
  readonly status: Status | 'running' | 'waiting';
  readonly step: number;
  readonly usage: Usage;
  /** Absent where the cost of any of its calls is not known, and where there was none. */
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
  /** Absent where the cost of any call is not known, and where there was none. */
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
