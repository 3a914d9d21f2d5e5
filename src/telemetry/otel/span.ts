import {
  type Context,
  context,
  type HrTime,
  isSpanContextValid,
  type Link,
  type Span,
  type SpanContext,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Caller, SpanAbove, SpanHandle, SpanLink, SpanStart } from '../../core/contract/instrument.ts';
import { addStartAttributes, initialSpan } from './initial-span.ts';

/** An open span, with the context in which its children start. */
export class OpenSpan implements SpanHandle {
  readonly traceId: string;
  readonly spanId: string;
  readonly span: Span;
  readonly context: Context;
  readonly caller: Caller | undefined;
  /** The record that started it. The span of a lone agent starts with its run, and is then the agent's. */
  start: SpanStart;
  /** Kind of error of the worker it delegated to. */
  workerFault: string | undefined;
  /** How the agent's last turn ended. */
  finishReason: string | undefined;
  /** True for a detached worker, whose own run reports its usage. */
  isDetached = false;

  constructor(span: Span, parent: Context, start: SpanStart, caller?: Caller) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.span = span;
    this.context = trace.setSpan(parent, span);
    this.start = start;
    this.caller = caller;
  }

  get isDelegate(): boolean {
    return this.start.kind === 'tool' && this.start.request.delegate !== undefined;
  }

  run<T>(fn: () => T): T {
    return context.with(this.context, fn);
  }
}

/** Starts the span of a record. The attributes that samplers may look at are there from the start. */
export function openSpan(tracer: Tracer, start: SpanStart, parent: Context, transfer: boolean): OpenSpan {
  const { name, kind, attributes } = initialSpan(start);
  const options = { kind, attributes: addStartAttributes(attributes, start, transfer), startTime: hrTime(start.time) };
  return new OpenSpan(tracer.startSpan(name, options, parent), parent, start);
}

/**
 * Starts the span of a run: a child of the caller's span; of a detached worker, a child of its parent's span; if
 * it continues another run, the root of a new trace, with a link to the span that it continues from.
 */
export function openRun(tracer: Tracer, start: SpanStart & { kind: 'run' }, active: Context): OpenSpan {
  const { from, under } = start.request;
  const { name, kind, attributes } = initialSpan(start);
  const around = under === undefined ? active : trace.setSpanContext(active, remote(under));
  const above = trace.getSpanContext(around);
  const isChild = above !== undefined && isSpanContextValid(above) && (from === undefined || under !== undefined);
  const links = from === undefined ? [] : [linkTo(from)];
  addStartAttributes(attributes, start, false);
  const options = { kind, attributes, startTime: hrTime(start.time), links, root: !isChild };
  return new OpenSpan(tracer.startSpan(name, options, around), around, start, isChild ? callerOf(above) : undefined);
}

function remote({ traceId, spanId }: SpanAbove): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

function linkTo({ type, traceId, spanId }: SpanLink): Link {
  const to = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  return { context: to, attributes: { 'coxswain.link.type': type } };
}

function callerOf({ spanId, traceFlags, isRemote, traceState }: SpanContext): Caller {
  const state = traceState?.serialize() ?? '';
  return {
    spanId,
    traceFlags,
    ...(isRemote === true && { isRemote }),
    ...(state !== '' && { traceState: state }),
  };
}

/** Nanoseconds since 1970 as seconds and nanoseconds: exact, where a float of milliseconds is not. */
export function hrTime(time: bigint): HrTime {
  return [Number(time / 1_000_000_000n), Number(time % 1_000_000_000n)];
}
