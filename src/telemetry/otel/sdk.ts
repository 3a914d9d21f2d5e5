import type { Resource } from '@opentelemetry/resources';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';

// Of one line, for the newest of each need not go together.
const TRACES =
  '@opentelemetry/sdk-trace@3 @opentelemetry/context-async-hooks@3 @opentelemetry/core@3 @opentelemetry/resources@3 @opentelemetry/exporter-trace-otlp-http@0.301';
const METRICS = '@opentelemetry/sdk-metrics@3 @opentelemetry/exporter-metrics-otlp-http@0.301';

/** The packages that make and send spans. */
export interface TraceSdk {
  readonly trace: typeof import('@opentelemetry/sdk-trace');
  readonly context: typeof import('@opentelemetry/context-async-hooks');
  readonly core: typeof import('@opentelemetry/core');
  readonly resources: typeof import('@opentelemetry/resources');
  readonly exporter: typeof import('@opentelemetry/exporter-trace-otlp-http');
}

/** Those that measure and send metrics. */
export interface MetricSdk {
  readonly sdk: typeof import('@opentelemetry/sdk-metrics');
  readonly exporter: typeof import('@opentelemetry/exporter-metrics-otlp-http');
}

/** The SDK for spans, loaded on first use. Its versions 2 (from 2.12) and 3 have the same names. */
export function loadTraceSdk(who: string): Promise<TraceSdk> {
  return load(who, TRACES, async () => {
    const [trace, context, core, resources, exporter] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { trace, context, core, resources, exporter };
  });
}

/** The SDK for metrics. */
export function loadMetricSdk(who: string): Promise<MetricSdk> {
  return load(who, METRICS, async () => {
    const [sdk, exporter] = await Promise.all([
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
    ]);
    return { sdk, exporter };
  });
}

/** OTLP's own JSON. */
export function loadSerializer(who: string): Promise<typeof import('@opentelemetry/otlp-transformer')> {
  return load(who, '@opentelemetry/otlp-transformer@0.301', () => import('@opentelemetry/otlp-transformer'));
}

async function load<T>(who: string, packages: string, sdk: () => Promise<T>): Promise<T> {
  try {
    return await sdk();
  } catch (thrown) {
    throw new ConfigurationError(
      who,
      `the OpenTelemetry SDK could not be loaded (${messageOf(thrown).split('\n')[0]})`,
      `Run: npm install ${packages}`,
    );
  }
}

/**
 * The resource of a service: its name, `OTEL_RESOURCE_ATTRIBUTES`, the SDK. Nothing of the process, so that an export from
 * the records gives the very spans that were sent live.
 */
export function serviceResource({ resources }: TraceSdk, serviceName: string): Resource {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources;
  const named = resourceFromAttributes({ 'service.name': serviceName });
  return defaultResource()
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(named);
}

/** Most events are on the spans of agents: each approval, limit and refused call is one. */
export const SPAN_LIMITS = Object.freeze({ eventCountLimit: 1_024 });

/** How long one export may take, its retries included; `OTEL_EXPORTER_OTLP_TIMEOUT` overrides it. */
const EXPORT_MS = 3_000;

/** Sends spans as OTLP over HTTP: to a URL, else to the endpoint in the environment, else to localhost:4318. */
export function otlpExporter({ exporter }: TraceSdk, url: string | undefined, concurrencyLimit: number): SpanExporter {
  return new exporter.OTLPTraceExporter({ ...(url !== undefined && { url }), ...timeout('TRACES'), concurrencyLimit });
}

/** The same of metrics. */
export function otlpMetricExporter({ exporter }: MetricSdk, url: string | undefined) {
  return new exporter.OTLPMetricExporter({ ...(url !== undefined && { url }), ...timeout('METRICS') });
}

/** The exporter reads the environment itself. */
function timeout(signal: 'TRACES' | 'METRICS'): { readonly timeoutMillis?: number } {
  const { OTEL_EXPORTER_OTLP_TIMEOUT: all, [`OTEL_EXPORTER_OTLP_${signal}_TIMEOUT`]: own } = process.env;
  return all?.trim() || own?.trim() ? {} : { timeoutMillis: EXPORT_MS };
}

/** The sampler that `OTEL_TRACES_SAMPLER` and `…_ARG` name; by default everything is recorded, or what the caller's trace records. */
export function sampler({ trace }: TraceSdk): Sampler {
  const { OTEL_TRACES_SAMPLER: name = '', OTEL_TRACES_SAMPLER_ARG: ratio = '1' } = process.env;
  const share = Number(ratio);
  const root = name.endsWith('always_off')
    ? new trace.AlwaysOffSampler()
    : name.endsWith('traceidratio') && share >= 0 && share <= 1
      ? new trace.TraceIdRatioBasedSampler(share)
      : new trace.AlwaysOnSampler();
  return name === '' || name.startsWith('parentbased_') ? new trace.ParentBasedSampler({ root }) : root;
}

/** The address of a signal (`traces`, `metrics`) below the base URL of a collector. */
export function signalUrl(endpoint: string, signal: 'traces' | 'metrics', field: string): string {
  if (!URL.canParse(endpoint))
    throw new ConfigurationError(field, 'it is no URL', 'Give one like http://localhost:4318.');
  const base = endpoint.replace(/\/{1,8}$/, '').replace(/\/v1\/(?:traces|metrics)$/, '');
  return `${base}/v1/${signal}`;
}
