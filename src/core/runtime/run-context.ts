import type { Agent, ModelAgent } from '../contract/agent.ts';
import type { AgentOutcome } from '../contract/agent-outcome.ts';
import type { Hooks } from '../contract/hooks.ts';
import type { WaitRequest } from '../contract/permission.ts';
import type { ParentStep, Span } from '../contract/record.ts';
import type { Progress, Tool } from '../contract/tool.ts';
import type { WorkingSummary } from '../contract/working-summary.ts';
import type { Schema } from '../schema/schema.ts';
import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Limits } from '../values/limits.ts';
import type { Message, Part } from '../values/message.ts';
import type { Model, ModelDelta } from '../values/model.ts';
import type { Redact } from '../values/redact-message.ts';
import type { Stop } from '../values/status.ts';
import type { CallUsage, Usage } from '../values/usage.ts';
import type { Inbox } from './inbox.ts';
import type { Invocation } from './invocation.ts';
import type { Journal, Outcome } from './journal.ts';
import type { Selector } from './selector.ts';
import type { Stops } from './stops.ts';

/** What an invocation of a model starts with. */
export interface InitialMessages {
  readonly brief: readonly Message[];
  /** Leading messages of the brief whose labels are joined and whose tokens are bounded already. */
  readonly known?:
    | { readonly messages: readonly Message[]; readonly label: Label; readonly bound: number | undefined }
    | undefined;
}

/** One call before the permission step. */
export interface PermitQuery {
  readonly key: string;
  readonly self: Invocation;
  readonly step: number;
  readonly callId: string;
  readonly tool: Tool;
  readonly args: Json;
  /** The join of all that led to the call. */
  readonly label: Label;
}

export type Permit =
  | { readonly ok: true; readonly args: Json; readonly rule?: string | undefined }
  | { readonly ok: false; readonly error: ErrorRecord; readonly stop?: Stop | undefined };

/** A child about to start. */
export interface ChildCall {
  readonly key: string;
  readonly agent: Agent;
  readonly input: unknown;
  readonly parent: Invocation;
  readonly parentStep: ParentStep | undefined;
  readonly parentSpan: Span;
  readonly label: Label;
  /** Of a handoff: what it begins with, once that is whole. Without, its input. */
  readonly transcript?: Promise<readonly Message[]> | undefined;
  /** The id of the thread that it goes on with. */
  readonly thread?: string | undefined;
  /** What a delegate narrows, if it is one. */
  readonly delegate?: Tool | undefined;
  /** Places of a fan-out of its own, beside those of its supervisor. */
  readonly slots?: { readonly of: object; readonly concurrency: number } | undefined;
  /** Told when it is over, before anything else begins in its place. */
  readonly onEnd?: ((isCompleted: boolean) => void) | undefined;
}

/** All that a loop or procedure reaches of its run. The orchestration composes it from the rooms. */
export interface RunContext {
  readonly id: string;
  readonly traceId: string;
  readonly deps: unknown;
  readonly graceMs: number;
  /** Takes out of a text what models and workers may not be told; undefined where nothing is. */
  readonly redact: Redact | undefined;
  readonly limits: Limits;
  readonly journal: Journal;
  /** True where nothing new may happen. */
  readonly isReplay: boolean;
  /** In a replay: the stop that comes before an address that is not on record. */
  endsBefore(key: string): Stop | undefined;
  /** Of the whole tree; they fire before the agent's own. */
  readonly hooks: Hooks<never> | undefined;
  /** Of the whole tree. */
  readonly count: { steps: number; toolCalls: number; agents: number; usage: Usage };
  readonly stops: Stops;
  /** What came for its nodes and has not entered their transcripts. */
  readonly inbox: Inbox;
  modelOf(self: Invocation, agent: ModelAgent): Model;
  /** The window of a model: its own, else what is known of it; undefined where nothing is. */
  contextTokens(model: Model): number | undefined;
  /** What a call cost, in USD; undefined where no price is known. */
  costOf(model: Pick<Model, 'provider' | 'id' | 'server' | 'price'>, usage: CallUsage): number | undefined;
  /** What so many tokens cost at most: as if all input were of its dearest kind. */
  worstCostOf(model: Model, input: number, output: number): number | undefined;
  selector(options: {
    readonly maxTokens: number;
    readonly fixedTokens: number;
    readonly reserveTokens: number;
    /** True where what is due is compacted by the loop; else what does not fit is dropped. */
    readonly compacts?: boolean | undefined;
    readonly measured?: { readonly count: number; readonly bound: number } | undefined;
  }): Selector;
  /** What a compactor gave for the messages that it was given, checked and labelled. Throws where it cannot be sent. */
  readCompacted(covered: readonly Message[], given: unknown): readonly Message[];
  /** What a store of conversations gave back, checked and labelled. Throws where it is none. */
  readSummary(given: unknown): WorkingSummary;
  estimate(text: string): number;
  /** The agent's own tools, those that follow from its grants and its shared store, less what a cap above takes away. */
  toolsOf(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[];
  /** Asks the sources of an agent what they offer this invocation; undefined where it has none. `toolsOf` then has their tools. */
  offers(self: Invocation, agent: ModelAgent): Promise<void> | undefined;
  permit(query: PermitQuery): Permit | Promise<Permit>;
  resultLabel(tool: Tool, self: Invocation): Label;
  /** The label of a result once a person has looked at it; undefined where nobody is to look. */
  readonly endorse:
    | ((call: Omit<PermitQuery, 'callId'>, content: string | readonly Part[]) => Promise<Label>)
    | undefined;
  /** A procedure's question to a person or another process; an answer that the schema refuses is none. */
  waitFor(key: string, self: Invocation, step: number, request: WaitRequest, schema: Schema): Promise<Outcome>;
  /** Starts a child; throws a ToolError where it may not (depth, agents). `outcome` rejects only with infrastructure errors. */
  start(child: ChildCall): { readonly self: Invocation; readonly outcome: Promise<AgentOutcome> };
  /** Runs a child; rejects only with infrastructure errors. Refusals (depth, agents) are failures. */
  invoke(child: ChildCall): Promise<AgentOutcome>;
  /** Stops what is at and below a path, also in later epochs. */
  cancel(path: string, reason: string): void;
  /** Told when work that is no effect begins and ends: a run with work under way does not park. */
  activity(self: Invocation, by: 1 | -1): void;
  /** True while somebody listens to chunks. */
  readonly listening: boolean;
  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void;
  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void;
}
