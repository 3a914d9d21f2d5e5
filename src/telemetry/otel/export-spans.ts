import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { CoxswainError, messageOf } from '../../core/values/errors.ts';
import { loadSerializer } from './sdk.ts';

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
