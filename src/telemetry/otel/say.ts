import type { AttributeValue, Span } from '@opentelemetry/api';
import type { Json } from '../../core/values/json.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';

/** Kind of span → whether it holds structured values: SDKs before 3 do not. */
const structured = new WeakMap<object, boolean>();

/** Puts what was said on a span: structured where its SDK can hold that, else as JSON text. */
export function say(span: Span, said: { readonly [attribute: string]: Json }, redaction: ExitRedaction): void {
  for (const [name, given] of Object.entries(said)) {
    const value = redaction.json(given);
    if (typeof value === 'string') span.setAttribute(name, value);
    else if (!holds(span, name, value)) span.setAttribute(name, JSON.stringify(value));
  }
}

/** There is no asking: it is set, and looked at. */
function holds(span: Span, name: string, value: Json): boolean {
  const kind: object = Object.getPrototypeOf(span);
  if (structured.get(kind) === false) return false;
  // API 1.10 has the type for it, 1.9 has not.
  span.setAttribute(name, value as AttributeValue);
  const held: unknown = 'attributes' in span ? span.attributes : undefined;
  const isHeld = typeof held === 'object' && held !== null && name in held;
  structured.set(kind, isHeld);
  return isHeld;
}
