import {
  type Attributes,
  context,
  metrics,
  ProxyTracerProvider,
  propagation,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { ConfigurationError, CoxswainError, messageOf } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { checkOneOf, checkOptions, checkText } from '../../core/values/options.ts';
import { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import type { Redaction } from '../../security/redaction/redaction.ts';
import { type AgentTracers, withTimeout } from './registered.ts';
import {
  loadMetricSdk,
  loadTraceSdk,
  otlpExporter,
  otlpMetricExporter,
  SPAN_LIMITS,
  sampler,
  serviceResource,
  signalUrl,
  type TraceSdk,
} from './sdk.ts';

/** What {@link setupOtel} takes. */
export interface SetupOptions {
  /** How the service is named in traces. */
  readonly serviceName: string;
  /** Base URL of an OTLP/HTTP collector. Default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318. */
  readonly endpoint?: string | undefined;
  /** Default false. With true, each agent is a separate service, `<serviceName>.<agent>`, and has its own colour in trace views. */
  readonly servicePerAgent?: boolean | undefined;
  /** Default false. Also sends metrics, every minute (`OTEL_METRIC_EXPORT_INTERVAL`) and at the end. */
  readonly metrics?: boolean | undefined;
  /** What is redacted in all spans that it sends, your own too, beside secrets of known forms. */
  readonly redaction?: Redaction | undefined;
}

/** The SDK that {@link setupOtel} registered. */
export interface OtelSetup {
  /** Sends what is left and takes the providers back; at most five seconds. Rejects where the collector did not take it. */
  shutdown(): Promise<void>;
}

// A wide fan-out ends thousands of spans at once; the SDK's own queue of 2,048 would drop some, and its 30 exports at a time refuse others.
const BATCH = { maxQueueSize: 65_536, maxExportBatchSize: 1_024, scheduledDelayMillis: 1_000 };
const EXPORTS = BATCH.maxQueueSize / BATCH.maxExportBatchSize;
const SHUTDOWN_MS = 5_000;

/**
 * Registers an OpenTelemetry SDK that exports over OTLP/HTTP, for those who have none. Rejects with a ConfigurationError where
 * a package is missing or a provider is registered already. What is not yet sent goes out when the process runs out of work,
 * before SIGINT, SIGTERM or SIGHUP ends it, when a run parks, and at `shutdown()`; not at `process.exit()`.
 *
 * @example const { shutdown } = await setupOtel({ serviceName: 'research' });
 */
export async function setupOtel(options: SetupOptions): Promise<OtelSetup> {
  checkOptions('setupOtel', options, ['serviceName', 'endpoint', 'servicePerAgent', 'metrics', 'redaction']);
  const { serviceName, endpoint, servicePerAgent = false } = options;
  checkText('setupOtel.serviceName', serviceName, 'Name the service as it is searched for.');
  for (const name of ['servicePerAgent', 'metrics'] as const)
    checkOneOf(`setupOtel.${name}`, options[name], [true, false]);
  const url = endpoint === undefined ? undefined : signalUrl(endpoint, 'traces', 'setupOtel.endpoint');
  const sdk = await loadTraceSdk('setupOtel');
  const meters = options.metrics === true ? await meterProvider(sdk, serviceName, endpoint) : undefined;
  refuseSecond();
  const provider = new Services(sdk, serviceName, url, servicePerAgent, new ExitRedaction(options.redaction));
  register(sdk, provider);
  if (meters !== undefined) metrics.setGlobalMeterProvider(meters);
  const flush = async () => {
    await Promise.allSettled([provider.forceFlush(), meters?.forceFlush()]);
  };
  const onExit = () => void flush();
  process.once('beforeExit', onExit);
  const offSignals = flushOnSignals(flush);
  let closing: Promise<void> | undefined;
  return {
    shutdown() {
      process.off('beforeExit', onExit);
      offSignals();
      closing ??= close(() => all([provider.shutdown(), meters?.shutdown()]));
      return closing;
    },
  };
}

function refuseSecond(): void {
  const before = trace.getTracerProvider();
  if (before instanceof ProxyTracerProvider && before.getDelegateTracer('coxswain') === undefined) return;
  throw new ConfigurationError(
    'setupOtel',
    'an OpenTelemetry provider is registered already',
    'Leave setupOtel out: otel() uses the registered one.',
  );
}

function register({ context: contexts, core }: TraceSdk, provider: Services): void {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new contexts.AsyncLocalStorageContextManager().enable());
  const propagators = [new core.W3CTraceContextPropagator(), new core.W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new core.CompositePropagator({ propagators }));
}

/** Waits for each of them, also where one fails. */
async function all(works: readonly (Promise<void> | undefined)[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

async function close(shutdown: () => Promise<unknown>): Promise<void> {
  try {
    await withTimeout(SHUTDOWN_MS, shutdown());
  } catch (thrown) {
    throw new CoxswainError('otel', `the last spans could not be sent: ${messageOf(thrown)}`, { cause: thrown });
  } finally {
    trace.disable();
    metrics.disable();
    context.disable();
    propagation.disable();
  }
}

async function meterProvider(traces: TraceSdk, serviceName: string, endpoint: string | undefined) {
  const metricSdk = await loadMetricSdk('setupOtel.metrics');
  const { sdk } = metricSdk;
  const url = endpoint === undefined ? undefined : signalUrl(endpoint, 'metrics', 'setupOtel.endpoint');
  const every = Number(process.env.OTEL_METRIC_EXPORT_INTERVAL) || 60_000;
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: otlpMetricExporter(metricSdk, url),
    exportIntervalMillis: every,
    exportTimeoutMillis: Math.min(every, 10_000),
  });
  return new sdk.MeterProvider({ resource: serviceResource(traces, serviceName), readers: [reader] });
}

/** The tracers of one service, or of a service and one more for each of its agents, which send through one queue. */
class Services implements AgentTracers {
  readonly #sdk: TraceSdk;
  readonly #name: string;
  readonly #processor: InstanceType<TraceSdk['trace']['BatchSpanProcessor']>;
  readonly #own: InstanceType<TraceSdk['trace']['TracerProvider']>;
  readonly #byAgent = new Map<string, Tracer>();
  readonly #perAgent: boolean;

  constructor(sdk: TraceSdk, name: string, url: string | undefined, perAgent: boolean, redaction: ExitRedaction) {
    this.#sdk = sdk;
    this.#name = name;
    this.#perAgent = perAgent;
    const exporter = redactingExporter(otlpExporter(sdk, url, EXPORTS), redaction);
    this.#processor = new sdk.trace.BatchSpanProcessor({ exporter, ...BATCH });
    this.#own = this.#provider(name);
  }

  #provider(serviceName: string) {
    return new this.#sdk.trace.TracerProvider({
      resource: serviceResource(this.#sdk, serviceName),
      sampler: sampler(this.#sdk),
      spanLimits: SPAN_LIMITS,
      spanProcessors: [this.#processor],
    });
  }

  getTracer(name: string, version?: string): Tracer {
    return this.#own.getTracer(name, version);
  }

  agentTracer(agent: string): Tracer {
    if (!this.#perAgent) return this.getTracer('coxswain');
    const known = this.#byAgent.get(agent);
    if (known !== undefined) return known;
    const tracer = this.#provider(`${this.#name}.${agent}`).getTracer('coxswain');
    this.#byAgent.set(agent, tracer);
    return tracer;
  }

  forceFlush(): Promise<void> {
    return this.#own.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#own.shutdown();
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const FLUSH_MS = 2_000;

/**
 * Sends what is queued before a signal ends the process; the returned function undoes this. If there is another listener
 * for the signal, that listener decides whether the process ends.
 */
function flushOnSignals(flush: () => Promise<void>): () => void {
  const off = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  async function onSignal(signal: NodeJS.Signals): Promise<void> {
    const isOurs = process.listenerCount(signal) === 1;
    if (isOurs) off();
    await withTimeout(FLUSH_MS, flush()).catch(() => {});
    // Without another listener the signal has its default effect.
    if (isOurs) process.kill(process.pid, signal);
  }
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return off;
}

/** Sends spans without their secrets: also those that users' own tools make, in names, attributes, events and links. */
function redactingExporter(exporter: SpanExporter, redaction: ExitRedaction): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(
        spans.map((span) => clean(span, redaction)),
        done,
      ),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** The span, with every part redacted that can hold a text. */
function clean(span: ReadableSpan, redaction: ExitRedaction): ReadableSpan {
  const text = (value: string) => redaction.json(value) as string;
  const all = (attributes: Attributes) => redaction.json(attributes as Json) as Attributes;
  const own = {
    name: text(span.name),
    attributes: all(span.attributes),
    events: span.events.map((event) => {
      const { attributes } = event;
      return { ...event, name: text(event.name), ...(attributes && { attributes: all(attributes) }) };
    }),
    links: span.links.map((link) => ({ ...link, ...(link.attributes && { attributes: all(link.attributes) }) })),
    status: span.status.message === undefined ? span.status : { ...span.status, message: text(span.status.message) },
  };
  return Object.create(span, Object.getOwnPropertyDescriptors(own)) as ReadableSpan;
}
