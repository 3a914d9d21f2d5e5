import type { Agent } from '../contract/agent.ts';
import { type DetachedOutcome, nodesOf } from '../contract/detached.ts';
import type { NodeRef, ParentStep, Span } from '../contract/record.ts';
import type { Delegate } from '../contract/tool.ts';
import type { Label } from '../values/label.ts';
import type { AgentLimits } from '../values/limits.ts';
import { addSpending, NOTHING_SPENT, type Spending } from '../values/spending.ts';
import type { Status } from '../values/status.ts';
import type { Usage } from '../values/usage.ts';
import type { Threads } from './threads.ts';
import type { TruncatedResults } from './truncated-results.ts';
import type { Workers } from './workers.ts';

/** One run of one agent: a node of the tree. Its path is the address of all that it does. */
export class Invocation implements NodeRef {
  readonly path: string;
  readonly definition: Agent;
  readonly parent: Invocation | undefined;
  readonly parentStep?: ParentStep;
  /** The root has depth 1. */
  readonly depth: number;
  readonly span: Span;
  /** The brief that a model wrote for it. */
  readonly given: string | undefined;
  /** What its supervisor says of it; absent at the root and below code. */
  readonly delegate: Delegate | undefined;
  /** Its background workers, once it has started one. */
  workers: Workers | undefined;
  /** Of its workers, where it may continue them. */
  threads: Threads | undefined;
  /** Its transcript, once a model drives it: `transcriptOf` reads it. */
  transcript: object | undefined;
  /** The definition's, narrowed by the delegate. */
  readonly limits: AgentLimits;
  readonly shared: { readonly [key: string]: unknown };
  /** What is known of where the shared values came from. */
  readonly sharedLabel: Label;
  status: Status | 'running' | 'waiting' = 'running';
  /** `provider/id` of the model that drives it. */
  model: string | undefined;
  step = 0;
  toolCalls = 0;
  /** Tool calls of code: of its own procedure, or of procedures among its tools. */
  codeCalls = 0;
  /** Of its own model calls. */
  spending: Spending = NOTHING_SPENT;
  /** Of these, those that `model` answered, and those of other models by `provider/id`: later ones of a fallback. */
  here: Spending = NOTHING_SPENT;
  elsewhere: Map<string, Spending> | undefined;
  /** The join of all it has seen. */
  label: Label;
  /** Its truncated results, where it can read the rest. */
  truncatedResults: TruncatedResults | undefined;
  readonly children: Invocation[] = [];
  /** When it started, in nanoseconds since 1970. */
  since = 0n;
  /** What is known of its tree, where it is a run of its own: `spending` is then that of the whole. */
  detached: DetachedOutcome | undefined;
  /** How long it was queued for a slot among its supervisor's workers before that, in milliseconds. */
  waitedMs = 0;
  /** Resolves when it is over, however. */
  ended: Promise<void> | undefined;
  /** Effects under way, and waits for a person, at and below it. */
  busy = 0;
  waiting = 0;

  constructor(of: {
    path: string;
    definition: Agent;
    parent: Invocation | undefined;
    parentStep: ParentStep | undefined;
    span: Span;
    given?: string | undefined;
    delegate?: Delegate | undefined;
    limits: AgentLimits;
    shared: { readonly [key: string]: unknown };
    sharedLabel: Label;
    label: Label;
  }) {
    this.path = of.path;
    this.definition = of.definition;
    this.parent = of.parent;
    if (of.parentStep !== undefined) this.parentStep = of.parentStep;
    this.depth = of.parent === undefined ? 1 : of.parent.depth + 1;
    this.span = of.span;
    this.given = of.given;
    this.delegate = of.delegate;
    this.limits = of.limits;
    this.shared = of.shared;
    this.sharedLabel = of.sharedLabel;
    this.label = of.label;
  }

  /** Ends it. The tree keeps it for its sums; what it needed while it ran is released. */
  end(status: Status): void {
    this.status = status;
    this.transcript = undefined;
    this.workers = undefined;
    this.threads = undefined;
  }

  get agent(): string {
    return this.definition.name;
  }

  get usage(): Usage {
    return this.spending.usage;
  }

  /**
   * Counts a call of its own; false, and nothing is counted, where the sum would pass 2^53 − 1. `by` is the model that
   * answered, where it is not the one that was asked.
   */
  spend(spending: Spending, by?: { readonly provider: string; readonly id: string }): boolean {
    const sum = addSpending(this.spending, spending);
    if (sum === undefined) return false;
    this.spending = sum;
    if (by === undefined) {
      this.here = this.elsewhere === undefined ? sum : (addSpending(this.here, spending) ?? this.here);
      return true;
    }
    const name = `${by.provider}/${by.id}`;
    this.elsewhere ??= new Map();
    const before = this.elsewhere.get(name) ?? NOTHING_SPENT;
    this.elsewhere.set(name, addSpending(before, spending) ?? before);
    return true;
  }

  /** The node at a path, at or below it. */
  find(path: string): Invocation | undefined {
    if (this.path === path) return this;
    for (const child of this.children) {
      const found = child.find(path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Invocations at and below it. */
  treeSize(): number {
    if (this.detached !== undefined) return nodesOf(this.detached.tree);
    return this.children.reduce((sum, child) => sum + child.treeSize(), 1);
  }

  /** Of its subtree; each call counts once. */
  treeSpending(): Spending {
    let sum = this.spending;
    for (const child of this.children) sum = addSpending(sum, child.treeSpending()) ?? sum;
    return sum;
  }

  treeUsage(): Usage {
    return this.treeSpending().usage;
  }
}
