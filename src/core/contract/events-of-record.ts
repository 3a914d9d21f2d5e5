import type { ErrorRecord } from '../values/errors.ts';
import { textOf, toolCallsOf } from '../values/message.ts';
import type { ModelDelta, ModelTurn } from '../values/model.ts';
import type { Status } from '../values/status.ts';
import type { StopReason } from '../values/stop-reason.ts';
import { isoTime } from '../values/time.ts';
import type { ToolOut } from '../values/tool-value.ts';
import { addUsage, NO_USAGE, type Usage, usageOfCall } from '../values/usage.ts';
import type { RunOut, ToolIn } from './boundary.ts';
import type { EventBody, EventEnd, EventHead } from './event.ts';
import type { NodeRef, RunRecord } from './record.ts';
import type { Progress } from './tool.ts';

export type { EventBody, EventFields, EventOf, EventType, RunEvent } from './event.ts';

/** The records of one kind. */
export type RecordOf<Kind extends RunRecord['kind']> = RunRecord extends infer One
  ? One extends RunRecord
    ? Kind extends One['kind']
      ? One
      : never
    : never
  : never;

/** What the mapping must remember between a start and its end: open calls, and what was spent below an address. One a handle. */
export interface EventState {
  /** Tool calls with their request, model calls with none. */
  readonly open: Map<string, ToolIn | undefined>;
  readonly spent: Map<string, { usage: Usage; isError: boolean }>;
}

export function eventState(): EventState {
  return { open: new Map(), spent: new Map() };
}

/**
 * The events of one record: none, one, or two where a call ended that never started. The same records give the same
 * events; `state` holds only what is open.
 */
export function eventsOf(record: RunRecord, state: EventState): EventBody[] {
  const head = headOf(record);
  switch (record.kind) {
    case 'run':
    case 'agent':
      return boundary(record, head, state);
    case 'step':
      return record.event === 'started'
        ? [{ type: 'step.start', ...head, ...record.request }]
        : [stepEnd(record, head, state)];
    case 'model':
      return modelEvents(record, head, state);
    case 'tool':
      return toolEvents(record, head, state);
    case 'wait':
      if (record.event === 'started') return [{ type: 'approval.request', ...head, request: record.request }];
      if (record.event === 'cancel') return [];
      return [{ type: 'approval.decision', ...head, id: record.request.id, decision: record.value }];
    case 'decision': {
      // A rule denied it without a request: the address of the call is used as the id of one.
      const decision = { decision: 'deny', reason: record.value.reason } as const;
      return [{ type: 'approval.decision', ...head, id: record.key, decision }];
    }
    case 'limit':
      return [{ type: 'limit', ...head, ...record.value }];
    case 'gate': {
      const { value } = record;
      if (value.state === 'opened') return [{ type: 'gate.opened', ...head, gate: value.gate }];
      return [{ type: 'gate.closed', ...head, gate: value.gate, untilMs: value.untilMs }];
    }
    case 'context':
      return [{ type: 'context.compact', ...head, ...record.value }];
    case 'diverged':
      return [{ type: 'run.diverged', ...head, parts: record.value.parts }];
    case 'memory':
    case 'embedding':
    case 'child':
    case 'stop':
    case 'once':
    case 'sleep':
      return [];
  }
}

/** Where something that has no record happened. `time` in nanoseconds since 1970. */
export interface EventSource {
  readonly run: string;
  readonly traceId: string;
  readonly key: string;
  readonly node: NodeRef;
  readonly step: number;
  readonly time: bigint;
}

/** A piece of a turn, as it streams in. */
export function modelDelta(at: EventSource, attempt: number, delta: ModelDelta): EventBody {
  return { type: 'model.delta', ...headOf(at), attempt, delta };
}

/** What a tool says while it runs. */
export function toolProgress(
  at: EventSource,
  call: { readonly name: string; readonly callId: string },
  progress: Progress,
): EventBody {
  return { type: 'tool.progress', ...headOf(at), name: call.name, callId: call.callId, progress };
}

/** The last event of a run that was over before this handle looked. */
export function runEnd(
  at: EventSource & { readonly since: bigint },
  result: { readonly status: Status; readonly text: string; readonly usage: Usage; readonly error?: ErrorRecord },
): EventBody {
  const { status, text, usage, error: cause } = result;
  return { type: 'run.end', ...headOf(at), ...end(at, usage), status, text, ...(cause && { error: cause }) };
}

/** The last event of a run whose result rejects. `since` is when the run began. */
export function runFailed(
  at: EventSource & { readonly since: bigint },
  error: ErrorRecord,
  usage: Usage = NO_USAGE,
): EventBody {
  return { type: 'run.end', ...headOf(at), ...end(at, usage), status: 'failed', text: '', error };
}

/** Milliseconds from `since` to `time`, both in nanoseconds; 0 where the start is not known. */
export function durationMs(record: { readonly time: bigint; readonly since?: bigint }): number {
  return record.since === undefined ? 0 : Number(record.time - record.since) / 1e6;
}

function headOf(
  at: Omit<EventSource, 'time'> & { readonly time: bigint; readonly record?: number },
): Omit<EventHead, 'seq'> {
  const { path, agent, parentStep } = at.node;
  return {
    runId: at.run,
    traceId: at.traceId,
    ...(at.record === undefined ? {} : { record: at.record }),
    time: isoTime(at.time),
    key: at.key,
    path,
    agent,
    step: at.step,
    ...(parentStep === undefined ? {} : { parentStep }),
  };
}

function end(record: { readonly time: bigint; readonly since?: bigint }, usage: Usage, costUsd?: number): EventEnd {
  return { durationMs: durationMs(record), usage, ...(costUsd === undefined ? {} : { costUsd }) };
}

type Bound = Omit<EventHead, 'seq'>;

function boundary(record: RecordOf<'run'> | RecordOf<'agent'>, head: Bound, state: EventState): EventBody[] {
  if (record.event === 'started') return [{ type: record.kind === 'run' ? 'run.start' : 'agent.start', ...head }];
  const out: RunOut = record.value;
  // Its result rejected, which does not end the run: a resume continues it.
  if (out.status === 'failed') return [];
  const outcome = {
    ...end(record, out.usage, out.costUsd),
    text: out.text,
    ...(out.error === undefined ? {} : { error: out.error }),
  } as const;
  if (record.kind === 'agent') {
    const call = record.key.slice(0, record.key.lastIndexOf('/'));
    if (state.open.has(call)) spend(state, call, out.usage, false);
    return [{ type: 'agent.end', ...head, ...outcome, status: out.status }];
  }
  if (record.event === 'done') return [{ type: 'run.end', ...head, ...outcome, status: out.status }];
  const { text: _, error: __, ...spent } = outcome;
  return [{ type: 'run.suspended', ...head, ...spent, status: 'suspended', pending: out.pending ?? [] }];
}

function modelEvents(record: RecordOf<'model'>, head: Bound, state: EventState): EventBody[] {
  switch (record.event) {
    case 'started': {
      // Each attempt has a record; the call starts once.
      const again = state.open.has(record.key);
      state.open.set(record.key, undefined);
      return again ? [] : [{ type: 'model.start', ...head, model: record.request.model }];
    }
    case 'retry': {
      const { delayMs, ...error } = record.value;
      return [{ type: 'model.retry', ...head, attempt: record.attempt, delayMs, error }];
    }
    case 'done': {
      state.open.delete(record.key);
      const usage = usageOfCall(record.value.usage);
      spend(state, stepOf(record), usage, false);
      return [
        {
          type: 'model.end',
          ...head,
          ...end(record, usage, record.value.costUsd),
          ...turnFields(record.value),
          isError: false,
        },
      ];
    }
    case 'failed':
    case 'cancel': {
      state.open.delete(record.key);
      const usage = usageOfCall(undefined);
      spend(state, stepOf(record), usage, true);
      const failure = { isError: true, error: record.value, text: '', calls: [] };
      return [{ type: 'model.end', ...head, ...end(record, usage), ...failure }];
    }
  }
}

function turnFields(turn: ModelTurn): { text: string; calls: string[]; stop: StopReason } {
  return { text: textOf(turn.content), calls: toolCallsOf(turn.content).map((call) => call.name), stop: turn.stop };
}

function stepEnd(record: RecordOf<'step'>, head: Bound, state: EventState): EventBody {
  const spent = take(state, stepOf(record));
  return { type: 'step.end', ...head, ...end(record, spent.usage), isError: spent.isError };
}

function toolEvents(record: RecordOf<'tool'>, head: Bound, state: EventState): EventBody[] {
  if (record.event === 'started') {
    state.open.set(record.key, record.request);
    return [toolStart(head, record.request)];
  }
  const started = state.open.get(record.key);
  state.open.delete(record.key);
  const call = record.request ?? started;
  if (call === undefined) return [];
  const { name, callId, args } = call;
  const base = {
    type: 'tool.end',
    ...head,
    name,
    callId,
    args,
    ...end(record, take(state, record.key).usage),
  } as const;
  const ended: EventBody =
    record.event === 'cancel'
      ? { ...base, isError: true, error: record.value }
      : { ...base, result: record.value.content, ...failureOf(record.value) };
  // A refused call has an end; a reader that pairs starts and ends needs the start as well.
  return started === undefined ? [toolStart(head, call), ended] : [ended];
}

function toolStart(head: Bound, { name, callId, args }: ToolIn): EventBody {
  return { type: 'tool.start', ...head, name, callId, args };
}

function failureOf(out: ToolOut): { isError: boolean; error?: ErrorRecord } {
  return { isError: out.isError, ...(out.error === undefined ? {} : { error: out.error }) };
}

function stepOf(record: { readonly node: NodeRef; readonly step: number }): string {
  return `${record.node.path}/${record.step}`;
}

function spend(state: EventState, key: string, usage: Usage, isError: boolean): void {
  const before = state.spent.get(key);
  if (before === undefined) state.spent.set(key, { usage, isError });
  else {
    before.usage = addUsage(before.usage, usage) ?? before.usage;
    before.isError = isError;
  }
}

function take(state: EventState, key: string): { usage: Usage; isError: boolean } {
  const spent = state.spent.get(key) ?? { usage: NO_USAGE, isError: false };
  state.spent.delete(key);
  return spent;
}
