import { type Context, createTraceState, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Caller, SpanStart } from '../../core/contract/instrument.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import { hasSpan } from '../../core/contract/record-kinds.ts';
import { CoxswainError, messageOf } from '../../core/values/errors.ts';
import { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import type { SpanContent } from './outcome.ts';
import { RunSpans } from './run-spans.ts';
import { loadSerializer, SPAN_LIMITS, serviceResource, type TraceSdk } from './sdk.ts';
import { type OpenSpan, openRun } from './span.ts';

/** What of a run's records becomes spans, and how. */
export interface Rebuilding {
  readonly sdk: TraceSdk;
  readonly serviceName: string;
  readonly servicePerAgent: boolean;
  readonly content: SpanContent;
  readonly transfer: boolean;
  /** True while the run's process is alive: what is open will be sent by that. */
  readonly isLive: boolean;
}

/** The state of a run whose process died. */
const DIED = 'died';

/**
 * The spans of records, by the mapping that makes them live: with the ids and times of the records, so that they are the very
 * spans that were sent, if they were. What a process left open when it died ends with the last of its records, as `died`.
 */
export function rebuildSpans(records: readonly RunRecord[], options: Rebuilding): readonly ReadableSpan[] {
  const made = new Making(options);
  let before: RunRecord | undefined;
  for (const record of records) {
    if (before !== undefined && record.epoch !== before.epoch) made.died(before.time);
    made.take(record);
    before = record;
  }
  if (before !== undefined && !options.isLive) made.died(before.time);
  return made.ended;
}

class Making {
  readonly ended: ReadableSpan[] = [];
  readonly #options: Rebuilding;
  /** Open spans by their ids. */
  readonly #open = new Map<string, OpenSpan>();
  /** What has begun in this epoch, by kind and address: a lone agent has the span of its run. */
  readonly #begun = new Set<string>();
  #spans: RunSpans | undefined;
  #ids = { traceId: '', spanId: '' };

  constructor(options: Rebuilding) {
    this.#options = options;
  }

  take(record: RunRecord): void {
    this.#ids = record;
    if (record.kind === 'run') this.#run(record);
    else if (opensSpan(record) && !this.#begun.has(`${record.kind} ${record.key}`)) this.#start(record);
    else this.#spans?.take(record);
  }

  #run(record: Extract<RunRecord, { kind: 'run' }>): void {
    if (record.event !== 'started') {
      this.#spans?.end(record);
      this.#spans = undefined;
      return;
    }
    const { content, transfer } = this.#options;
    const { agent, team } = record.request;
    const { serviceName } = this.#options;
    const tracerOf = (name: string) => this.#tracer(this.#serviceOf(name));
    const root = openRun(team ? this.#tracer(serviceName) : tracerOf(agent), record, around(record));
    this.#open.clear();
    this.#begun.clear();
    this.#open.set(record.spanId, root);
    const redaction = new ExitRedaction(undefined);
    this.#spans = new RunSpans({ content, transfer, redaction, tracerOf }, root, !team);
  }

  /** The first of its attempts. */
  #start(record: RunRecord & SpanStart & { readonly parentSpanId: string | undefined }): void {
    this.#begun.add(`${record.kind} ${record.key}`);
    const open = this.#spans?.start(record, this.#open.get(record.parentSpanId ?? ''));
    if (open !== undefined) this.#open.set(record.spanId, open);
  }

  /** The process died, so the end of open spans is unknown; they end after the last record. */
  died(time: bigint): void {
    this.#spans?.close(DIED, DIED, time + 1_000n);
    this.#spans = undefined;
  }

  #serviceOf(agent: string): string {
    const { serviceName, servicePerAgent } = this.#options;
    return servicePerAgent ? `${serviceName}.${agent}` : serviceName;
  }

  readonly #tracers = new Map<string, ReturnType<InstanceType<TraceSdk['trace']['TracerProvider']>['getTracer']>>();

  #tracer(service: string) {
    const known = this.#tracers.get(service);
    if (known !== undefined) return known;
    const { sdk } = this.#options;
    const provider = new sdk.trace.TracerProvider({
      resource: serviceResource(sdk, service),
      sampler: new sdk.trace.AlwaysOnSampler(),
      spanLimits: SPAN_LIMITS,
      idGenerator: { generateTraceId: () => this.#ids.traceId, generateSpanId: () => this.#ids.spanId },
      spanProcessors: [new Collector(this.ended)],
    });
    const tracer = provider.getTracer('coxswain');
    this.#tracers.set(service, tracer);
    return tracer;
  }
}

class Collector implements SpanProcessor {
  readonly #ended: ReadableSpan[];

  constructor(ended: ReadableSpan[]) {
    this.#ended = ended;
  }

  onStart(_span: Span, _parent: Context): void {}
  onEnd(span: ReadableSpan): void {
    this.#ended.push(span);
  }
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

/** The caller's context, as far as it is recorded. */
function around(record: RunRecord & { readonly kind: 'run'; readonly event: 'started' }): Context {
  const { caller } = record.request;
  if (caller === undefined) return ROOT_CONTEXT;
  const { spanId, traceFlags, isRemote, traceState }: Caller = caller;
  const state = traceState === undefined ? {} : { traceState: createTraceState(traceState) };
  const remote = isRemote === undefined ? {} : { isRemote };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId: record.traceId, spanId, traceFlags, ...remote, ...state });
}

function opensSpan(record: RunRecord): record is RunRecord & SpanStart {
  return record.event === 'started' && record.kind !== 'run' && hasSpan(record.kind);
}

const BATCH = 1_024;

/** Sends spans, a thousand at a time. Rejects where a batch was not taken; those before it were. */
export async function sendSpans(spans: readonly ReadableSpan[], exporter: SpanExporter): Promise<void> {
  try {
    for (let first = 0; first < spans.length; first += BATCH)
      await exported(exporter, spans.slice(first, first + BATCH));
  } catch (thrown) {
    throw new CoxswainError('otel', `the spans could not be sent: ${messageOf(thrown)}`, { cause: thrown });
  } finally {
    await exporter.shutdown().catch(() => {});
  }
}

function exported(exporter: SpanExporter, spans: ReadableSpan[]): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(spans, ({ code, error }) => {
      if (code === 0) resolve();
      else reject(error ?? new Error('the collector refused them'));
    });
  });
}

/** Spans as OTLP's JSON, which trace views open as a file. */
export async function spansJson(spans: readonly ReadableSpan[]): Promise<string> {
  const { JsonTraceSerializer } = await loadSerializer('cox trace export');
  const bytes = JsonTraceSerializer.serializeRequest([...spans]);
  return new TextDecoder().decode(bytes);
}
