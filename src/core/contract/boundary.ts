import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Message, UserMessage } from '../values/message.ts';
import type { Model, ModelSettings, ToolChoice, ToolDefinition } from '../values/model.ts';
import type { Status } from '../values/status.ts';
import type { Usage } from '../values/usage.ts';
import type { Access } from './access.ts';
import type { Caller, SpanAbove, SpanLink } from './instrument.ts';
import type { ApprovalRequest, WaitRequest } from './permission.ts';
import type { McpFacts } from './tool.ts';

/** What entered the transcript at a step's boundary: steers, results of background workers, messages of workers. */
export interface StepIn {
  readonly arrived: readonly UserMessage[];
}

/** One request to a model. `messages` is the list as sent; its first `from` entries were in the request before (of this invocation). */
export interface ModelIn {
  /** `provider/id`. */
  readonly model: string;
  readonly provider: string;
  readonly modelId: string;
  readonly server?: { readonly address: string; readonly port?: number };
  readonly instructions: string;
  readonly messages: readonly Message[];
  readonly from: number;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly output?: { readonly name: string; readonly schema: { readonly [key: string]: Json } };
  readonly settings: ModelSettings;
  readonly stream: boolean;
}

export interface ToolIn {
  readonly name: string;
  readonly description: string;
  readonly callId: string;
  /** Parsed and frozen; the raw text where it could not be parsed. */
  readonly args: Json;
  readonly access?: Access;
  /** The worker's name, where the tool is a delegate. */
  readonly delegate?: string;
  /** Of a tool of an MCP server. */
  readonly mcp?: McpFacts;
  /** The allow rule that answered an ask beforehand. */
  readonly rule?: string;
  /** What held what the tool started. */
  readonly sandbox?: string;
  /** Of a call that code made: its arguments as JSON text, before they were parsed. */
  readonly given?: string;
}

export interface AgentIn {
  readonly agent: string;
  readonly description: string;
  readonly type: 'model' | 'code';
  /** The messages it starts with. */
  readonly brief: readonly Message[];
  /** Of code: its input. */
  readonly input?: unknown;
  readonly model?: string;
  /** What the model said of its window: a replay has no model to ask. */
  readonly modelLimits?: Model['limits'];
  /** It is a run of its own: messages for it are that run's, also before that has begun. */
  readonly apart?: true;
  readonly depth: number;
}

export interface AgentOut {
  readonly status: Status;
  readonly text: string;
  /** Of its own model calls. */
  readonly ownUsage: Usage;
  /** Of its subtree. */
  readonly usage: Usage;
  /** Of its subtree, where every call's is known. */
  readonly costUsd?: number;
  readonly steps: number;
  readonly toolCalls: number;
  readonly error?: ErrorRecord;
}

export interface RunIn {
  readonly agent: string;
  /** True where the tree may have more than one agent: the trace then starts with `invoke_workflow`. */
  readonly team: boolean;
  readonly input: readonly Message[];
  /** What a resume starts with; only durable journals keep it. */
  readonly beginning?: Json | undefined;
  readonly forkedFrom?: string | undefined;
  /** The run that this one is a detached child of, or follows. */
  readonly parentRun?: string | undefined;
  /** The span it continues from: then its own begins a new trace. */
  readonly from?: SpanLink | undefined;
  /** The span of its parent's run that a detached child runs below. */
  readonly under?: SpanAbove | undefined;
  /** The caller's span, in a record that is rebuilt. */
  readonly caller?: Caller | undefined;
}

export interface RunOut extends Omit<AgentOut, 'status'> {
  /** `failed`: its result rejected. Only records that are made again from a journal have it. */
  readonly status: Status | 'failed';
  /** The join of all that the root has seen. */
  readonly label?: Label;
  readonly pending?: readonly (ApprovalRequest | WaitRequest)[];
}
