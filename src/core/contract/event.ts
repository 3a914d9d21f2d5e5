import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Part, UserMessage } from '../values/message.ts';
import type { ModelDelta } from '../values/model.ts';
import type { Status } from '../values/status.ts';
import type { StopReason } from '../values/stop-reason.ts';
import type { Usage } from '../values/usage.ts';
import type { ApprovalRequest, Decision, WaitRequest } from './permission.ts';
import type { ContextNote, ParentStep } from './record.ts';
import type { Progress } from './tool.ts';

/** Where and when: what each event has. */
export interface EventHead {
  readonly runId: string;
  readonly traceId: string;
  /** Counts this handle's events from 1, without a gap. */
  readonly seq: number;
  /** The journal's number; absent for what is shown but never recorded. */
  readonly record?: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** The address of what happened. */
  readonly key: string;
  /** The invocation it happened in. */
  readonly path: string;
  readonly agent: string;
  /** 0 before the first step and in procedures. */
  readonly step: number;
  readonly parentStep?: ParentStep;
}

/** What every `*.end` has. `durationMs` is monotonic; `usage` is of what ended and all below it. */
export interface EventEnd {
  readonly durationMs: number;
  readonly usage: Usage;
  /** In USD: of `model.end`, `agent.end`, `run.end` and `run.suspended`, where every call's is known. */
  readonly costUsd?: number;
}

interface Failable {
  readonly isError: boolean;
  readonly error?: ErrorRecord;
}

interface Call {
  readonly name: string;
  readonly callId: string;
  readonly args?: Json;
}

/** What an event of each type says beside its head. */
export interface EventFields {
  'run.start': object;
  'agent.start': object;
  /** `arrived` is what entered the transcript before it: steers, results of background workers, messages of workers. */
  'step.start': { readonly arrived?: readonly UserMessage[] };
  'step.end': EventEnd & { readonly isError: boolean };
  'model.start': { readonly model: string };
  'model.delta': { readonly delta: ModelDelta; readonly attempt: number };
  'model.retry': { readonly attempt: number; readonly delayMs: number; readonly error: ErrorRecord };
  'model.end': EventEnd &
    Failable & {
      readonly text: string;
      /** Names of the calls it asks for. */
      readonly calls: readonly string[];
      readonly stop?: StopReason;
    };
  'tool.start': Call;
  'tool.progress': Call & { readonly progress: Progress };
  'tool.end': Call & EventEnd & Failable & { readonly result?: string | readonly Part[] };
  'approval.request': { readonly request: ApprovalRequest | WaitRequest };
  'approval.decision': { readonly id: string; readonly decision: Decision };
  /** A provider asked everyone of this process to wait; `untilMs` is when it opens, in milliseconds since 1970. */
  'gate.closed': { readonly gate: string; readonly untilMs?: number };
  'gate.opened': { readonly gate: string };
  /** Earlier messages were dropped or replaced, or were to be (`error`): see {@link ContextNote}. */
  'context.compact': ContextNote;
  limit: { readonly limit: string; readonly used: number; readonly max: number };
  'run.diverged': { readonly parts: readonly string[] };
  'agent.end': EventEnd & { readonly status: Status; readonly text: string; readonly error?: ErrorRecord };
  'run.suspended': EventEnd & {
    readonly status: 'suspended';
    readonly pending: readonly (ApprovalRequest | WaitRequest)[];
  };
  'run.end': EventEnd & {
    /** `failed` where the run's result rejects. */
    readonly status: Status | 'failed';
    readonly text: string;
    readonly error?: ErrorRecord;
  };
}

/** The names that `run.on` takes. */
export type EventType = keyof EventFields;

/** The event of one type: `EventOf<'tool.end'>`. */
export type EventOf<Type extends EventType> = { [T in Type]: EventHead & { readonly type: T } & EventFields[T] }[Type];

/** An event of a run; `switch (event.type)` narrows it. */
export type RunEvent = EventOf<EventType>;

/** An event before the handle numbered it. */
export type EventBody = { [T in EventType]: Omit<EventHead, 'seq'> & { readonly type: T } & EventFields[T] }[EventType];
