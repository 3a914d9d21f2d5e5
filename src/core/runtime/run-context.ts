import type { ModelAgent } from '../contract/agent.ts';
import type { Hooks } from '../contract/hooks.ts';
import type { WaitRequest } from '../contract/permission.ts';
import type { Progress, Tool } from '../contract/tool.ts';
import type { WorkingSummary } from '../contract/working-summary.ts';
import type { Schema } from '../schema/schema.ts';
import type { Label } from '../values/label.ts';
import type { Limits } from '../values/limits.ts';
import type { Message } from '../values/message.ts';
import type { Model, ModelDelta } from '../values/model.ts';
import type { Redact } from '../values/redact-message.ts';
import type { CallUsage, Usage } from '../values/usage.ts';
import type { CallPermissions } from './call-permissions.ts';
import type { Cancellation } from './cancellation.ts';
import type { ChildStarter } from './child-starter.ts';
import type { Inbox } from './inbox.ts';
import type { Invocation } from './invocation.ts';
import type { Journal, Outcome } from './journal.ts';
import type { NodeActivity } from './node-activity.ts';
import type { Selector, SelectorOptions } from './selector.ts';
import type { Stops } from './stops.ts';

/** What loops and procedures use of their run: its facts, and one collaborator for each concern. The orchestration composes it. */
export interface RunContext {
  readonly id: string;
  readonly traceId: string;
  readonly deps: unknown;
  readonly graceMs: number;
  readonly limits: Limits;
  /** True where nothing new may happen. */
  readonly isReplay: boolean;
  /** Of the whole tree. */
  readonly count: { steps: number; toolCalls: number; agents: number; usage: Usage };
  /** Of the whole tree; they fire before the agent's own. */
  readonly hooks: Hooks<never> | undefined;
  /** Removes from a text what models and workers must not see; undefined where nothing is removed. */
  readonly redact: Redact | undefined;
  readonly journal: Journal;
  readonly stops: Stops;
  readonly cancellation: Cancellation;
  /** What came for its nodes and has not entered their transcripts. */
  readonly inbox: Inbox;
  readonly models: ModelCatalog;
  readonly context: ContextWindows;
  readonly tools: ToolCatalog;
  readonly permissions: CallPermissions;
  readonly questions: Questions;
  readonly children: ChildStarter;
  readonly activity: NodeActivity;
  readonly observers: Observers;
}

/** The models of a run: which one an invocation uses, its window and its prices. */
export interface ModelCatalog {
  of(self: Invocation, agent: ModelAgent): Model;
  /** The window of a model: its own, else the known one; undefined where none is known. */
  contextTokens(model: Model): number | undefined;
  /** What a call cost, in USD; undefined where no price is known. */
  costOf(model: Pick<Model, 'provider' | 'id' | 'server' | 'price'>, usage: CallUsage): number | undefined;
  /** What so many tokens cost at most: as if all input were of its dearest kind. */
  worstCostOf(model: Model, input: number, output: number): number | undefined;
}

/** The tools of a run's invocations. */
export interface ToolCatalog {
  /** The agent's own tools, those that its grants and its shared store add, without those that a cap above removes. */
  of(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[];
  /** Asks the sources of an agent what they offer this invocation; undefined where it has none. `of` then has their tools. */
  askSources(self: Invocation, agent: ModelAgent): Promise<void> | undefined;
  resultLabel(tool: Tool, self: Invocation): Label;
}

/** Shows the listeners of a run what is no record: chunks of answers and progress of tools. */
export interface Observers {
  /** True while a listener receives chunks. */
  readonly isListening: boolean;
  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void;
  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void;
}

/** Asks a person or another process on behalf of code. */
export interface Questions {
  /** Waits for the answer; one that the schema refuses does not count. */
  ask(request: WaitRequest, self: Invocation, step: number, schema: Schema): Promise<Outcome>;
}

/** Keeps transcripts within the windows of their models. */
export interface ContextWindows {
  selector(options: SelectorOptions): Selector;
  /** The messages that a compactor returned for `covered`, checked and labelled. Throws where they cannot be sent. */
  readCompacted(covered: readonly Message[], given: unknown): readonly Message[];
  /** What a store of conversations returned, checked and labelled. Throws where it is no summary. */
  readSummary(given: unknown): WorkingSummary;
  /** Estimated tokens of a text. */
  estimate(text: string): number;
}
