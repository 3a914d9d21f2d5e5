import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { ConfigurationError, CoxswainError, messageOf } from '../core/errors.ts';
import { checkOptions, checkText } from '../core/options.ts';

/** What {@link setupOtel} takes. */
export interface SetupOptions {
  /** How the service is named in traces. */
  readonly serviceName: string;
  /** Base URL of an OTLP/HTTP collector. Default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318. */
  readonly endpoint?: string | undefined;
}

/** The SDK that {@link setupOtel} registered. */
export interface OtelSetup {
  /** Sends what is left and takes the provider back. Rejects where the collector did not take it. */
  shutdown(): Promise<void>;
}

// A wide fan-out ends thousands of spans at once; the SDK's own queue of 2,048 would drop some.
const BATCH = { maxQueueSize: 65_536, maxExportBatchSize: 1_024, scheduledDelayMillis: 1_000 };

/**
 * Registers an OpenTelemetry SDK that exports spans over OTLP/HTTP, for those who have none. Rejects with a
 * ConfigurationError where a package is missing or a provider is registered already. What is not yet sent goes out when
 * the process runs out of work, and at `shutdown()`.
 *
 * @example const { shutdown } = await setupOtel({ serviceName: 'research' });
 */
export async function setupOtel(options: SetupOptions): Promise<OtelSetup> {
  checkOptions('setupOtel', options, ['serviceName', 'endpoint']);
  const { serviceName, endpoint } = options;
  checkText('setupOtel.serviceName', serviceName, 'Name the service as it is searched for.');
  const url = endpoint === undefined ? undefined : tracesUrl(endpoint);
  const [
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    { defaultResource, resourceFromAttributes },
  ] = await loadSdk();
  const before = trace.getTracerProvider();
  if (!(before instanceof ProxyTracerProvider) || before.getDelegateTracer('coxswain') !== undefined) {
    throw new ConfigurationError(
      'setupOtel',
      'an OpenTelemetry provider is registered already',
      'Leave setupOtel out: otel() uses the registered one.',
    );
  }
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(url === undefined ? {} : { url }), BATCH)],
  });
  provider.register();
  const flush = () => void provider.forceFlush().catch(() => {});
  process.once('beforeExit', flush);
  let closing: Promise<void> | undefined;
  return {
    shutdown() {
      process.off('beforeExit', flush);
      closing ??= provider
        .shutdown()
        .catch((thrown) => {
          throw new CoxswainError('otel', `the last spans could not be sent: ${messageOf(thrown)}`, { cause: thrown });
        })
        .finally(() => trace.disable());
      return closing;
    },
  };
}

async function loadSdk() {
  try {
    return await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  } catch (thrown) {
    throw new ConfigurationError(
      'setupOtel',
      `the OpenTelemetry SDK could not be loaded (${messageOf(thrown).split('\n')[0]})`,
      'Run: npm install @opentelemetry/sdk-trace-node@2 @opentelemetry/exporter-trace-otlp-http@0.223 @opentelemetry/resources@2',
    );
  }
}

function tracesUrl(endpoint: string): string {
  if (!URL.canParse(endpoint)) {
    throw new ConfigurationError('setupOtel.endpoint', 'it is no URL', 'Give one like http://localhost:4318.');
  }
  const base = endpoint.replace(/\/{1,8}$/, '');
  return base.endsWith('/v1/traces') ? base : `${base}/v1/traces`;
}
