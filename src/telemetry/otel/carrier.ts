import { context, propagation } from '@opentelemetry/api';

/** A trace on its way to another process: W3C `traceparent`, `tracestate` and `baggage`, as HTTP headers and the `_meta` of MCP hold them. */
export interface TraceCarrier {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/**
 * The headers with which another process continues the trace that is active here, for example in a tool that calls that process. Empty without a
 * registered propagator (`setupOtel` registers one) and outside of any span.
 *
 * @example await fetch(url, { headers: { ...traceCarrier() } });
 */
export function traceCarrier(): TraceCarrier {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier;
}

/**
 * Runs `fn` in the trace of another process: a run that starts in it is a child of the span there. What is missing or
 * malformed in a carrier is left out.
 *
 * @example continueTrace(request.headers, () => runAgent(lead, question, { instrument: otel() }));
 */
export function continueTrace<T>(carrier: { readonly [name: string]: unknown }, fn: () => T): T {
  const texts = Object.entries(carrier).filter(([, value]) => typeof value === 'string');
  return context.with(propagation.extract(context.active(), Object.fromEntries(texts)), fn);
}
