import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Json } from '../../core/values/json.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';

/** Sends spans without their secrets: also those that users' own tools make, in names, attributes, events and links. */
export function redactingExporter(exporter: SpanExporter, redaction: ExitRedaction): SpanExporter {
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
