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
import { addStartAttributes, opening } from './opening.ts';

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
  /** An agent that runs as a run of its own, which tells what it used. */
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
  const { name, kind, attributes } = opening(start);
  const options = { kind, attributes: addStartAttributes(attributes, start, transfer), startTime: hrTime(start.time) };
  return new OpenSpan(tracer.startSpan(name, options, parent), parent, start);
}

/**
 * Starts the span of a run: a child of the caller's; of a detached child, of its parent's; else, where it goes on from another, the
 * root of a new trace. It links to where it goes on from.
 */
export function openRun(tracer: Tracer, start: SpanStart & { kind: 'run' }, active: Context): OpenSpan {
  const { from, under } = start.request;
  const { name, kind, attributes } = opening(start);
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
