import { messageOf } from '../core/values/errors.ts';
import type { Environment } from '../models/from-env.ts';
import type { OtelInstrument } from '../telemetry/otel/otel.ts';

/** An instrument and a function that sends the remaining spans. `problem` tells why a collector receives nothing. */
export interface RunTrace {
  readonly instrument: OtelInstrument;
  readonly problem?: string;
  /** Starts the run, in the trace of `TRACEPARENT` where a caller set that. */
  within<T>(start: () => T): T;
  /** Rejects where the collector did not take the spans. */
  shutdown(): Promise<void>;
}

const NO_URL = 'it is no URL, so no spans are sent. Set one like http://localhost:4318.';

/**
 * OpenTelemetry spans if the environment names a collector (`OTEL_EXPORTER_OTLP_ENDPOINT` or `…_TRACES_ENDPOINT`), else undefined. They have content only with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`.
 */
export async function traceRun(env: Environment = process.env): Promise<RunTrace | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim() || env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim();
  if (!endpoint || isTrue(env.OTEL_SDK_DISABLED)) return undefined;
  const { continueTrace, otel, setupOtel } = await import('../telemetry/otel/otel.ts');
  const { TRACEPARENT: traceparent, TRACESTATE: tracestate } = env;
  const within = <T>(start: () => T) => continueTrace({ traceparent, tracestate }, start);
  const captured = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT ?? '';
  const instrument = otel({ content: /^(true|span_only|span_and_event)$/i.test(captured.trim()) ? 'full' : 'none' });
  if (!URL.canParse(endpoint)) {
    return { instrument, within, problem: `OTEL_EXPORTER_OTLP_ENDPOINT: ${NO_URL}`, shutdown: async () => {} };
  }
  try {
    const { shutdown } = await setupOtel({
      serviceName: env.OTEL_SERVICE_NAME?.trim() || 'coxswain',
      servicePerAgent: isTrue(env.COX_SERVICE_PER_AGENT),
      metrics: env.OTEL_METRICS_EXPORTER?.trim() === 'otlp',
    });
    return { instrument, within, shutdown };
  } catch (thrown) {
    // The agent's module may have registered its own provider: the spans then go there.
    return { instrument, within, problem: messageOf(thrown), shutdown: async () => {} };
  }
}

function isTrue(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'true';
}
