import type { ApartChild, ApartOutcome } from './apart.ts';
import type { ErrorRecord } from './errors.ts';
import type { Json } from './json.ts';
import type { Label } from './label.ts';
import type { Message, Part, UserMessage } from './message.ts';
import type { Model, ModelSettings, ModelTurn, ToolChoice, ToolDefinition } from './model.ts';
import type { ApprovalRequest, Decision, WaitRequest } from './permission.ts';
import type { Status } from './status.ts';
import type { Access, McpFacts } from './tool.ts';
import type { ToolValue } from './tool-value.ts';
import type { Usage } from './usage.ts';

/** The model step that a call came from: `path` and `step` of the caller, `toolCallId` of the call. */
export interface ParentStep {
  readonly path: string;
  readonly step: number;
  readonly toolCallId: string;
}

/** The invocation a record belongs to. One object per invocation, shared by all its records. */
export interface Place {
  readonly path: string;
  readonly agent: string;
  /** The nearest model step above; absent at the root and where there is none. */
  readonly parentStep?: ParentStep;
}

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

export interface ToolOut {
  /** As the model sees it: bounded, where it was cut the text says so. */
  readonly content: string | readonly Part[];
  readonly isError: boolean;
  readonly label: Label;
  /** Whether content is only front and back of the whole. */
  readonly cut?: boolean;
  /** What code that made the call was given: the whole. */
  readonly forCode?: ToolValue;
  readonly error?: ErrorRecord;
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
  /** The run that this one is a child apart of, or follows. */
  readonly parentRun?: string | undefined;
  /** The span it goes on from: then its own begins a new trace. */
  readonly from?: SpanLink | undefined;
  /** The span of its parent's run that a child apart runs below. */
  readonly under?: SpanAbove | undefined;
  /** The caller's span, in a record that is told again. */
  readonly caller?: Caller | undefined;
}

/** A span of another process, in the same trace. `since`: when it began, in nanoseconds since 1970, as text. */
export type SpanAbove = { readonly traceId: string; readonly spanId: string; readonly since: string };

/** A span in another trace: of the run's epoch before, of the run it was forked from, shows again, or was put in line by. */
export type SpanLink = {
  readonly type: 'resume' | 'fork' | 'replay' | 'queued';
  readonly traceId: string;
  readonly spanId: string;
};

export interface RunOut extends AgentOut {
  /** The join of all that the root has seen. */
  readonly label?: Label;
  readonly pending?: readonly (ApprovalRequest | WaitRequest)[];
}

/**
 * What a record says, by kind and event.
 *
 * | kind | span | started | ends |
 * | --- | --- | --- | --- |
 * | run | one | RunIn | done RunOut, suspended RunOut |
 * | agent | one | AgentIn | done AgentOut |
 * | step | none | StepIn, or nothing | done |
 * | model | one | ModelIn | done ModelOut, failed, cancel |
 * | tool | one | ToolIn | done ToolOut, failed ToolOut, cancel; refused = failed without a start |
 * | memory, embedding | one | facts | done, failed, cancel |
 * | wait | none | request | done decision, cancel |
 * | child | none | what is asked for | done ApartOutcome, failed, cancel |
 * | decision, once, sleep, limit, context, gate, stop, diverged | none | – | done |
 */
export type Entry = Common &
  (
    | { readonly kind: 'run'; readonly event: 'started'; readonly request: RunIn }
    | { readonly kind: 'run'; readonly event: 'done' | 'suspended'; readonly value: RunOut; readonly request?: never }
    | { readonly kind: 'agent'; readonly event: 'started'; readonly request: AgentIn }
    | { readonly kind: 'agent'; readonly event: 'done'; readonly value: AgentOut; readonly request?: never }
    | { readonly kind: 'step'; readonly event: 'started'; readonly request?: StepIn }
    | { readonly kind: 'step'; readonly event: 'done'; readonly request?: never }
    | { readonly kind: 'model'; readonly event: 'started'; readonly request: ModelIn }
    | { readonly kind: 'model'; readonly event: 'done'; readonly value: ModelTurn; readonly request?: never }
    | { readonly kind: 'tool'; readonly event: 'started'; readonly request: ToolIn }
    | {
        readonly kind: 'tool';
        readonly event: 'done' | 'failed';
        readonly value: ToolOut;
        readonly request: ToolIn;
        /** False where it never started. */
        readonly ran: boolean;
      }
    | {
        readonly kind: 'memory' | 'embedding';
        readonly event: 'started';
        readonly request: { readonly [key: string]: Json | undefined };
      }
    | { readonly kind: 'memory' | 'embedding'; readonly event: 'done'; readonly value: Json; readonly request?: never }
    | { readonly kind: 'child'; readonly event: 'started'; readonly request: ApartChild }
    | { readonly kind: 'child'; readonly event: 'done'; readonly value: ApartOutcome; readonly request?: never }
    | {
        readonly kind: 'child';
        readonly event: 'failed' | 'cancel';
        readonly value: ErrorRecord;
        readonly request?: never;
      }
    | {
        readonly kind: 'model' | 'memory' | 'embedding';
        readonly event: 'failed';
        readonly value: ErrorRecord;
        readonly request?: never;
      }
    | { readonly kind: 'tool'; readonly event: 'cancel'; readonly value: ErrorRecord; readonly request?: ToolIn }
    | {
        readonly kind: 'model' | 'memory' | 'embedding';
        readonly event: 'cancel';
        readonly value: ErrorRecord;
        readonly request?: never;
      }
    | { readonly kind: 'wait'; readonly event: 'cancel'; readonly value: ErrorRecord; readonly request?: never }
    | {
        readonly kind: 'model';
        readonly event: 'retry';
        readonly value: ErrorRecord & { readonly delayMs: number };
        readonly request?: never;
      }
    | { readonly kind: 'wait'; readonly event: 'started'; readonly request: ApprovalRequest | WaitRequest }
    | {
        readonly kind: 'wait';
        readonly event: 'done';
        readonly value: Decision;
        readonly request: ApprovalRequest | WaitRequest;
      }
    | {
        readonly kind: 'decision';
        readonly event: 'done';
        readonly value: {
          readonly decision: 'deny';
          readonly reason: string;
          readonly rule?: string;
          readonly tool: string;
          readonly callId: string;
        };
        readonly request?: never;
      }
    | { readonly kind: 'once' | 'sleep'; readonly event: 'done'; readonly value: Json; readonly request?: never }
    | {
        readonly kind: 'stop';
        readonly event: 'done';
        readonly value: { readonly path: string; readonly status: 'cancelled' | 'timeout'; readonly reason: string };
        readonly request?: never;
      }
    | {
        readonly kind: 'diverged';
        readonly event: 'done';
        readonly value: { readonly parts: readonly string[] };
        readonly request?: never;
      }
    | {
        readonly kind: 'limit';
        readonly event: 'done';
        readonly value: { readonly limit: string; readonly used: number; readonly max: number };
        readonly request?: never;
      }
    | {
        /** A provider asked to wait: everyone of this process who uses it is held back. Once a run that is affected. */
        readonly kind: 'gate';
        readonly event: 'done';
        readonly value:
          | {
              readonly gate: string;
              readonly state: 'closed' /** In milliseconds since 1970. */;
              readonly untilMs: number;
            }
          | { readonly gate: string; readonly state: 'opened' };
        readonly request?: never;
      }
    | {
        readonly kind: 'context';
        readonly event: 'done';
        readonly value: ContextNote;
        readonly request?: never;
      }
  );

/** What was done with a transcript before a call, because it had grown too long. Tokens of the whole request, by the window's ruler. */
export type ContextNote = {
  /** `custom`: by a compactor of the user's. */
  readonly how: 'drop' | 'summarize' | 'custom';
  /** Messages that were dropped or replaced. */
  readonly dropped: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Index in the transcript at which the part begins that is sent whole. */
  readonly cut?: number;
  /** Why nothing was compacted: the transcript stays as it is. */
  readonly error?: ErrorRecord;
};

interface Common {
  readonly key: string;
  readonly place: Place;
  /** Of the invocation, when it was written; 0 before the first and in procedures. */
  readonly step: number;
  readonly attempt: number;
  /** When what ends here began, in nanoseconds since 1970; on ends only. */
  readonly since?: bigint;
  /** Milliseconds that a call or an agent stood in line before it started; on starts only, where it had to wait. */
  readonly waitedMs?: number;
}

/** What is done through the port under a key, with an outcome. */
export type EffectKind = 'model' | 'tool' | 'memory' | 'embedding' | 'child';

/** What an entry says, without where and when. */
type Saying<E> = E extends unknown ? Omit<E, keyof Common> : never;
type OfEffect = Extract<Entry, { kind: EffectKind }>;
/** How an effect is told when it starts, and when it ends. */
export type EffectStart = Saying<Extract<OfEffect, { event: 'started' }>>;
export type EffectEnd = Saying<Extract<OfEffect, { event: 'done' | 'failed' | 'cancel' }>>;

/** A span by its address. `handle` is there where an instrument opened one. */
export interface Span {
  readonly key: string;
  readonly parent: Span | undefined;
  handle: SpanHandle | undefined;
}

/** An entry on its way to the journal: `span` is its own where its kind has one, else that of the invocation. */
export type Draft = Entry & { readonly span: Span };

/** One boundary of a run, as it was written. Events, log, spans, metrics and cost are views of these. */
export type RunRecord = Entry & {
  /** Counts from 1 within the run. */
  readonly record: number;
  readonly run: string;
  readonly epoch: number;
  /** Nanoseconds since 1970; greater than that of every earlier record of this process. */
  readonly time: bigint;
  readonly traceId: string;
  /** The span this record belongs to: of the call, agent or run it starts or ends; of the invocation for all others. */
  readonly spanId: string;
  /** Span id of what encloses it; of the run's own span the caller's, if it has one. */
  readonly parentSpanId: string | undefined;
};

/** Something that is shown every record once it is committed. `flush` is awaited before the run's result settles. */
export interface View {
  (record: RunRecord): void;
  flush?(): void | Promise<void>;
}

/** A span that an instrument opened. `run` makes it the active one while `fn` runs. */
export interface SpanHandle {
  /** 32 hex digits; all zeros where the instrument records nothing. */
  readonly traceId: string;
  /** 16 hex digits; all zeros where the instrument records nothing. */
  readonly spanId: string;
  /** The caller's span around a run, where it has one. */
  readonly caller?: Caller | undefined;
  run<T>(fn: () => T): T;
}

/** A span around a run, in the same trace. A type and no interface, so that it counts as JSON. */
export type Caller = {
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: string;
};

/** What an instrument is told when a run, an agent, a procedure or the first attempt of a call starts. */
export type SpanStart = Extract<
  Entry,
  { event: 'started'; kind: 'run' | 'agent' | 'model' | 'tool' | 'memory' | 'embedding' }
> & {
  readonly run: string;
  readonly time: bigint;
};

/** At most one a run: OpenTelemetry. Called synchronously at each start; as a view it ends its spans with the records' times. */
export interface Instrument extends View {
  start(start: SpanStart, parent: SpanHandle | undefined): SpanHandle | undefined;
  /** Asked once a run: false where it wants nothing of it, so that nothing is made for it. Default true. */
  wants?(): boolean;
  /** When the caller's span began, in nanoseconds since 1970: a run starts no earlier. */
  notBefore?(): bigint | undefined;
  /** The run's result rejects: what is still open ends now. */
  abandon?(run: string, error: ErrorRecord, time: bigint): void;
  /** A replay is over. Of one only the run starts: its records are shown to views, since nothing of them happened now. */
  replayed?(run: string, status: Status, time: bigint): void;
}
