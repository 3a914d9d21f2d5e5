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
import type { Caller, SpanHandle, SpanLink, SpanStart } from '../core/record.ts';
import { opening } from './opening.ts';

/** A span that is under way, with the context its children start in. */
export class OpenSpan implements SpanHandle {
  readonly traceId: string;
  readonly spanId: string;
  readonly span: Span;
  readonly context: Context;
  readonly caller: Caller | undefined;
  /** What started it; a lone agent's span is opened by its run and then taken over. */
  start: SpanStart;
  /** Kind of error of the worker it delegated to. */
  workerFault: string | undefined;
  /** How the agent's last turn ended. */
  finishReason: string | undefined;

  constructor(span: Span, parent: Context, start: SpanStart, caller?: Caller) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.span = span;
    this.context = trace.setSpan(parent, span);
    this.start = start;
    this.caller = caller;
  }

  run<T>(fn: () => T): T {
    return context.with(this.context, fn);
  }
}

/** Starts the span of a record. The attributes that samplers may look at are there from the start. */
export function openSpan(tracer: Tracer, start: SpanStart, parent: Context): OpenSpan {
  const { name, kind, attributes } = opening(start);
  const options = { kind, attributes, startTime: hrTime(start.time) };
  return new OpenSpan(tracer.startSpan(name, options, parent), parent, start);
}

/** Starts the span of a run: a child of the caller's, or the root of a new trace that is linked to where it goes on from. */
export function openRun(tracer: Tracer, start: SpanStart & { kind: 'run' }, around: Context): OpenSpan {
  const { name, kind, attributes } = opening(start);
  const { from } = start.request;
  const above = trace.getSpanContext(around);
  const startTime = hrTime(start.time);
  if (from === undefined) {
    const caller = above !== undefined && isSpanContextValid(above) ? callerOf(above) : undefined;
    return new OpenSpan(tracer.startSpan(name, { kind, attributes, startTime }, around), around, start, caller);
  }
  const options = { kind, attributes, startTime, root: true, links: [linkTo(from)] };
  return new OpenSpan(tracer.startSpan(name, options, around), around, start);
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
