import { context, isSpanContextValid, ProxyTracerProvider, type Tracer, trace } from '@opentelemetry/api';
import type { ErrorRecord } from '../core/errors.ts';
import { checkOneOf, checkOptions } from '../core/options.ts';
import type { Instrument, RunRecord, SpanHandle, SpanStart } from '../core/record.ts';
import type { SpanContent } from './outcome.ts';
import { RunSpans } from './run-spans.ts';
import { openSpan } from './span.ts';

export type { SpanContent } from './outcome.ts';
export { type OtelSetup, type SetupOptions, setupOtel } from './setup.ts';

/** What {@link otel} takes. */
export interface OtelOptions {
  /** Default `none`. `full` puts prompts, answers, arguments and results on the spans, their secrets redacted. */
  readonly content?: SpanContent | undefined;
  /** Default: one of the registered provider. */
  readonly tracer?: Tracer | undefined;
}

/** An instrument that can also end what a run leaves open whose result rejects: such a run has no last record. */
export interface OtelInstrument extends Instrument {
  /** `time` in nanoseconds since 1970. */
  abandon(run: string, error: ErrorRecord, time: bigint): void;
}

/**
 * OpenTelemetry spans of a run, by the GenAI semantic conventions: `invoke_workflow` (a team's run), `invoke_agent`,
 * `chat`, `execute_tool`, `embeddings` and memory operations. A lone agent's run is its `invoke_agent` span. The run's
 * span is a child of the caller's active one. Uses the registered provider; without one it does next to nothing.
 *
 * @example startRun(agent, input, { instrument: otel() })
 */
export function otel(options: OtelOptions = {}): OtelInstrument {
  checkOptions('otel', options, ['content', 'tracer']);
  checkOneOf('otel.content', options.content, ['none', 'full']);
  const content = options.content ?? 'none';
  const runs = new Map<string, RunSpans>();

  function start(begun: SpanStart, parent: SpanHandle | undefined): SpanHandle | undefined {
    if (begun.kind === 'run') return startRun(begun);
    return runs.size === 0 ? undefined : runs.get(begun.run)?.start(begun, parent);
  }

  function startRun(begun: SpanStart & { kind: 'run' }): SpanHandle | undefined {
    const tracer = options.tracer ?? registeredTracer();
    if (tracer === undefined) return undefined;
    const root = openSpan(tracer, begun, context.active());
    // A tracer that does nothing gives neither a trace to show nor one to pass on.
    if (!isSpanContextValid(root.span.spanContext())) return undefined;
    runs.set(begun.run, new RunSpans(tracer, content, root, !begun.request.team));
    return root;
  }

  function view(record: RunRecord): void {
    if (runs.size === 0) return;
    const spans = runs.get(record.run);
    if (spans === undefined) return;
    if (record.kind !== 'run') spans.take(record);
    else if (record.event !== 'started') {
      runs.delete(record.run);
      spans.end(record);
    }
  }

  function abandon(run: string, error: ErrorRecord, time: bigint): void {
    runs.get(run)?.close('failed', error.kind, time);
    runs.delete(run);
  }

  return Object.assign(view, { start, abandon });
}

/** Asked once a run, so that without a provider nothing else is done. */
function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('coxswain')
    : provider.getTracer('coxswain');
}
