import type { AgentIn, AgentOut, ModelIn, RunIn, RunOut, ToolIn } from '../contract/boundary.ts';
import type { DetachedOutcome } from '../contract/detached.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../contract/permission.ts';
import type { EffectKind, Entry, ParentStep } from '../contract/record.ts';
import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { ModelTurn } from '../values/model.ts';
import type { Charge } from '../values/spending.ts';
import type { ToolValue } from '../values/tool-value.ts';

export type Kind = Entry['kind'];

/** Facts of a trace that are the same for many records: stored in the first of an epoch that has them, under a number. */
export interface SharedFacts<Facts> {
  readonly of?: number;
  readonly facts?: Facts;
}

export type FactsOfAgent = Pick<AgentIn, 'description'>;
export type FactsOfTool = Pick<ToolIn, 'description' | 'delegate' | 'access' | 'sandbox'>;
/** `output` is the name of the form that is asked for. */
export type FactsOfModel = Pick<ModelIn, 'provider' | 'modelId' | 'server' | 'settings' | 'stream'> & {
  readonly output?: string;
};

/** How long it was queued before it started, in milliseconds; who pays it, where its address does not say so. */
interface TraceOfCall<Facts> extends SharedFacts<Facts> {
  readonly waitedMs?: number;
  readonly paidBy?: string;
  /** The rule that allowed it. */
  readonly rule?: string;
}

interface TraceOfAgent extends SharedFacts<FactsOfAgent> {
  readonly waitedMs?: number;
  readonly parentStep?: ParentStep;
  /** The path of an agent's parent, where its address does not say it. */
  readonly under?: string;
}

/** What a trace needs of a record beside what a resume needs. */
interface Traced<Trace> {
  readonly trace?: Trace;
}

/** The sums and the status of an agent or a run. A record made from a step log has the status alone. */
export type StoredSums = Pick<AgentOut, 'status'> &
  Partial<Pick<AgentOut, 'steps' | 'toolCalls' | 'usage' | 'costUsd' | 'error'>>;

/** Of a tool call: its name, its arguments, and the hash of their text where a model or code wrote them. Of a log: the text. */
type StoredToolCall = Traced<TraceOfCall<FactsOfTool>> & {
  readonly tool: string;
  readonly args?: Json;
  readonly given?: string;
  readonly written?: string;
};

/** The end of a procedure, or a refusal (`ran: false`): what was returned is worked out anew, `content` is its hash. */
export interface StoredCallEnd {
  readonly isError: boolean;
  readonly error?: ErrorRecord;
  readonly content?: string;
  readonly ran?: boolean;
}

/** What a call was charged, and the path of who pays, where its address does not say it. */
interface StoredPayment {
  readonly spent?: Charge;
  readonly paidBy?: string;
}

/** A hash for each part of a request. */
type StoredParts = Traced<TraceOfCall<FactsOfModel>> & { readonly [part: string]: unknown };

/** The value of an entry that is stored as it is. */
type ValueOf<K extends Kind, E extends Entry['event'] = 'done'> =
  Extract<Entry, { kind: K; event: E }> extends {
    value: infer V;
  }
    ? V
    : never;

interface Started<Request> {
  readonly request: Request;
  readonly value?: undefined;
}
interface Ended<Value, Request = undefined> {
  readonly request?: Request;
  readonly value: Value;
}

/** The stored form of each record: a request and a value by kind and event. */
interface StoredForms {
  run: {
    started: Started<Omit<RunIn, 'input'> & Traced<Pick<RunIn, 'caller'>>>;
    done: Ended<Omit<StoredSums, 'status'> & Pick<RunOut, 'status' | 'label'>>;
    suspended: Ended<Omit<StoredSums, 'status'> & Pick<RunOut, 'status' | 'label'>>;
    /** Its result rejected. */
    cancel: Ended<Pick<ErrorRecord, 'kind'>>;
  };
  agent: {
    started: Started<
      Pick<AgentIn, 'agent' | 'type' | 'model' | 'modelLimits' | 'apart'> & { depth?: number } & Traced<TraceOfAgent>
    >;
    done: Ended<StoredSums, Traced<Pick<AgentOut, 'ownUsage'>>>;
    /** A resume continues it. */
    cancel: Ended<StoredSums, Traced<Pick<AgentOut, 'ownUsage'>>>;
  };
  step: { started: Started<undefined>; done: Ended<undefined> };
  model: {
    started: Started<StoredParts | undefined>;
    retry: Ended<ErrorRecord & { readonly delayMs: number }>;
    done: Ended<ModelTurn, StoredPayment>;
    failed: Ended<ErrorRecord, StoredPayment>;
    cancel: Ended<ErrorRecord, StoredPayment>;
  };
  tool: {
    started: Started<StoredToolCall>;
    done: Ended<ToolValue | StoredCallEnd, Partial<StoredToolCall> & StoredPayment>;
    failed: Ended<ErrorRecord | StoredCallEnd, Partial<StoredToolCall> & StoredPayment>;
    cancel: Ended<ErrorRecord | StoredCallEnd, Partial<StoredToolCall> & StoredPayment>;
  };
  memory: StoredEffect;
  embedding: StoredEffect;
  child: {
    started: Started<undefined>;
    done: Ended<DetachedOutcome, StoredPayment>;
    failed: Ended<ErrorRecord, StoredPayment>;
    cancel: Ended<ErrorRecord, StoredPayment>;
  };
  wait: {
    started: Started<ApprovalRequest | WaitRequest>;
    done: Ended<Decision>;
    cancel: Ended<ErrorRecord>;
  };
  decision: { done: Ended<ValueOf<'decision'>> };
  once: { done: Ended<Json> };
  sleep: { done: Ended<Json> };
  stop: { done: Ended<ValueOf<'stop'>> };
  diverged: { done: Ended<ValueOf<'diverged'>> };
  limit: { done: Ended<ValueOf<'limit'>> };
  gate: { done: Ended<ValueOf<'gate'>> };
  context: { done: Ended<ValueOf<'context'>> };
}

interface StoredEffect {
  /** Its facts alone. */
  started: Started<Traced<{ readonly [fact: string]: Json | undefined }> | undefined>;
  done: Ended<Json, StoredPayment>;
  failed: Ended<ErrorRecord, StoredPayment>;
  cancel: Ended<ErrorRecord, StoredPayment>;
}

/** The events of a kind, as they are stored. */
export type StoredEventOf<K extends Kind> = keyof StoredForms[K];

type StoredUnion = {
  [Of in Kind]: {
    [Event in StoredEventOf<Of>]: { readonly kind: Of; readonly event: Event } & StoredForms[Of][Event];
  }[StoredEventOf<Of>];
}[Kind];

/** What is stored of a record, by kind and event. */
export type StoredEntry<K extends Kind = Kind> = Extract<StoredUnion, { kind: K }>;

/** A stored start. */
export type StoredStart<K extends Kind = Kind> = Extract<StoredUnion, { kind: K; event: 'started' }>;

/** A stored outcome: no `cancel`, after which a resume continues. */
export type StoredEnd<K extends Kind = Kind> = Extract<StoredUnion, { kind: K; event: 'done' | 'failed' }>;

declare const recorded: unique symbol;

/** The address of a value that is decided once, with its type. */
export type OnceKey<T> = string & { readonly [recorded]?: T };

/** A stored record of an effect that gave nothing: it failed, was interrupted, or was tried again. */
export type StoredFailure = Extract<StoredUnion, { kind: EffectKind; event: 'failed' | 'cancel' | 'retry' }>;

/** Why an effect gave nothing. */
export function failureOf({ value }: StoredFailure): ErrorRecord {
  return 'isError' in value ? (value.error ?? NOT_SAID) : value;
}

const NOT_SAID: ErrorRecord = Object.freeze({ kind: 'unknown', message: 'no cause is on record', retryable: false });

/** The error that something ended with. */
export function endError(end: StoredEnd<'agent' | 'tool' | 'wait' | 'sleep'> | undefined): ErrorRecord | undefined {
  if (end === undefined) return undefined;
  if (end.kind === 'agent') return end.value.error;
  if (end.kind !== 'tool') return undefined;
  if ('isError' in end.value) return end.value.error;
  return end.event === 'failed' ? end.value : undefined;
}
