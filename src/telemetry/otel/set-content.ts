import type { AttributeValue, Span } from '@opentelemetry/api';
import type { Json } from '../../core/values/json.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';

/** Prototype of a span → whether it accepts structured values; SDKs before 3 do not. */
const structured = new WeakMap<object, boolean>();

/** Puts content on a span: structured if its SDK accepts that, else as JSON text. */
export function setContent(
  span: Span,
  contents: { readonly [attribute: string]: Json },
  redaction: ExitRedaction,
): void {
  for (const [name, content] of Object.entries(contents)) {
    const value = redaction.json(content);
    if (typeof value === 'string') span.setAttribute(name, value);
    else if (!setStructured(span, name, value)) span.setAttribute(name, JSON.stringify(value));
  }
}

/** Sets a structured value and looks whether it is there: no API tells in advance. False if the SDK dropped it. */
function setStructured(span: Span, name: string, value: Json): boolean {
  const kind: object = Object.getPrototypeOf(span);
  if (structured.get(kind) === false) return false;
  // API 1.10 has the type for it, 1.9 has not.
  span.setAttribute(name, value as AttributeValue);
  const attributes: unknown = 'attributes' in span ? span.attributes : undefined;
  const isStructured = typeof attributes === 'object' && attributes !== null && name in attributes;
  structured.set(kind, isStructured);
  return isStructured;
}
