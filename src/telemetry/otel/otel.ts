import type { Meter, Tracer } from '@opentelemetry/api';
import { context, isSpanContextValid, type Span, trace } from '@opentelemetry/api';
import type { Instrument, SpanHandle, SpanStart } from '../../core/contract/instrument.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';
import { checkOneOf, checkOptions } from '../../core/values/options.ts';
import { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import type { Redaction } from '../../security/redaction/redaction.ts';
import { RunMetrics } from './metrics.ts';
import type { SpanContent } from './outcome.ts';
import { flushRegistered, registeredMeter, registeredTracers } from './registered.ts';
import { RunSpans, type SpanOptions } from './run-spans.ts';
import { openRun } from './span.ts';

export { continueTrace, type TraceCarrier, traceCarrier } from './carrier.ts';
export type { SpanContent } from './outcome.ts';
export { type OtelSetup, type SetupOptions, setupOtel } from './setup.ts';

/** What {@link otel} takes. */
export interface OtelOptions {
  /** Default `none`. `full` puts prompts, answers, arguments and results on the spans, their secrets redacted. */
  readonly content?: SpanContent | undefined;
  /** What else is redacted in content, beside secrets of known forms and fields that a tool's schema marks. */
  readonly redaction?: Redaction | undefined;
  /** Default: one of the registered provider. */
  readonly tracer?: Tracer | undefined;
  /** Default: one of the registered provider, where there is one. */
  readonly meter?: Meter | undefined;
  /** Default false. Also what is only proposed: `gen_ai.transfer.mode` and `.target.name` on the calls of delegates. */
  readonly transfer?: boolean | undefined;
}

/** An instrument that can also end the open spans of a run whose result rejects, since such a run has no last record. */
export interface OtelInstrument extends Instrument {
  /** `time` in nanoseconds since 1970. */
  abandon(run: string, error: ErrorRecord, time: bigint): void;
  /** Sends the spans of a run that parked, since its process may end. Rejects if they could not be sent. */
  flush(): Promise<void>;
}

/** The state of an active run. */
interface Traced {
  readonly spans: RunSpans | undefined;
  readonly metrics: RunMetrics | undefined;
}

/**
 * OpenTelemetry of a run, by the GenAI semantic conventions. Spans: `invoke_workflow` (a team's run), `invoke_agent`,
 * `chat`, `execute_tool`, `embeddings` and memory operations; a lone agent's run is its `invoke_agent` span. The run's span
 * is a child of the caller's active one; that of a resume, a fork or a replay begins a new trace and links to the span that it continues from. Metrics: durations, tokens, cost, waits. Uses the registered providers; without one it does next to nothing.
 *
 * @example startRun(agent, input, { instrument: otel() })
 */
export function otel(options: OtelOptions = {}): OtelInstrument {
  checkOptions('otel', options, ['content', 'redaction', 'tracer', 'meter', 'transfer']);
  checkOneOf('otel.content', options.content, ['none', 'full']);
  checkOneOf('otel.transfer', options.transfer, [true, false]);
  const runs = new Map<string, Traced>();
  let hasParked = false;

  function start(begun: SpanStart, parent: SpanHandle | undefined): SpanHandle | undefined {
    if (begun.kind === 'run') return startRun(begun);
    return runs.size === 0 ? undefined : runs.get(begun.run)?.spans?.start(begun, parent);
  }

  function startRun(begun: SpanStart & { kind: 'run' }): SpanHandle | undefined {
    const spans = openSpans(begun, options);
    const meter = options.meter ?? registeredMeter();
    if (spans === undefined && meter === undefined) return undefined;
    runs.set(begun.run, { spans, metrics: meter && new RunMetrics(meter) });
    return spans?.root ?? UNTRACED;
  }

  function view(record: RunRecord): void {
    if (runs.size === 0) return;
    const traced = runs.get(record.run);
    if (traced === undefined) return;
    traced.metrics?.take(record);
    if (record.kind !== 'run') traced.spans?.take(record);
    else if (record.event !== 'started') {
      runs.delete(record.run);
      traced.spans?.end(record);
      hasParked ||= record.event === 'suspended';
    }
  }

  function abandon(run: string, error: ErrorRecord, time: bigint): void {
    runs.get(run)?.spans?.close('failed', error.kind, time);
    runs.get(run)?.metrics?.abandon(error.kind, time);
    runs.delete(run);
  }

  function replayed(run: string, status: string, time: bigint): void {
    runs.get(run)?.spans?.close(status, undefined, time);
    runs.delete(run);
  }

  async function flush(): Promise<void> {
    if (!hasParked) return;
    hasParked = false;
    await flushRegistered();
  }

  function wants(): boolean {
    return (options.tracer ?? registeredTracers() ?? options.meter ?? registeredMeter()) !== undefined;
  }

  return Object.assign(view, { start, abandon, replayed, flush, wants, notBefore: callersStart });
}

function openSpans(begun: SpanStart & { kind: 'run' }, options: OtelOptions): RunSpans | undefined {
  const { tracer, content = 'none', transfer = false } = options;
  const tracers = tracer === undefined ? registeredTracers() : { ofRun: tracer, ofAgent: () => tracer };
  if (tracers === undefined) return undefined;
  const { team } = begun.request;
  const root = openRun(team ? tracers.ofRun : tracers.ofAgent(begun.node.agent), begun, context.active());
  // A tracer that does nothing gives neither a trace to show nor one to pass on.
  if (!isSpanContextValid(root.span.spanContext())) return undefined;
  const redaction = new ExitRedaction(options.redaction);
  const made: SpanOptions = { content, transfer, redaction, tracerOf: tracers.ofAgent };
  return new RunSpans(made, root, !team);
}

/** Of a run that is only measured. */
const UNTRACED: SpanHandle = Object.freeze({
  traceId: '0'.repeat(32),
  spanId: '0'.repeat(16),
  run: <T>(fn: () => T) => fn(),
});

/** The SDK's clock is another than ours, and a child must lie inside its parent. */
function callersStart(): bigint | undefined {
  const caller: (Span & { startTime?: unknown }) | undefined = trace.getActiveSpan();
  const [seconds, nanos] = Array.isArray(caller?.startTime) ? caller.startTime : [];
  if (!Number.isSafeInteger(seconds) || !Number.isSafeInteger(nanos)) return undefined;
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
}
