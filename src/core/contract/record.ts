import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { ModelTurn } from '../values/model.ts';
import type { ToolOut } from '../values/tool-value.ts';
import type { AgentIn, AgentOut, ModelIn, RunIn, RunOut, StepIn, ToolIn } from './boundary.ts';
import type { DetachedChild, DetachedOutcome } from './detached.ts';
import type { SpanHandle } from './instrument.ts';
import type { ApprovalRequest, Decision, WaitRequest } from './permission.ts';

/** The model step that a call came from: `path` and `step` of the caller, `toolCallId` of the call. */
export interface ParentStep {
  readonly path: string;
  readonly step: number;
  readonly toolCallId: string;
}

/** The invocation a record belongs to. One object per invocation, shared by all its records. */
export interface NodeRef {
  readonly path: string;
  readonly agent: string;
  /** The nearest model step above; absent at the root and where there is none. */
  readonly parentStep?: ParentStep;
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
 * | child | none | what is asked for | done DetachedOutcome, failed, cancel |
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
    | { readonly kind: 'child'; readonly event: 'started'; readonly request?: DetachedChild }
    | { readonly kind: 'child'; readonly event: 'done'; readonly value: DetachedOutcome; readonly request?: never }
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
        /** A provider asked to wait: all calls of this process to it wait. Once a run that is affected. */
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
  readonly node: NodeRef;
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
export type EntryContent = Saying<Entry>;
type OfEffect = Extract<Entry, { kind: EffectKind }>;
/** The entries of an effect's start and end, for views. */
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

/** Something that is shown every record once it is committed. `flush` is awaited before the run's result resolves. */
export interface View {
  (record: RunRecord): void;
  flush?(): void | Promise<void>;
}
