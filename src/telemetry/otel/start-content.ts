import type { AttributeValue, Span } from '@opentelemetry/api';
import type { SpanStart } from '../../core/contract/instrument.ts';
import type { Json } from '../../core/values/json.ts';
import type { Message } from '../../core/values/message.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import { boundedValue, inputMessages, instructionParts } from './parts.ts';

/** The content attributes of a span at its start, for `content: 'full'`. */
export function startContent(start: SpanStart): { readonly [attribute: string]: Json } {
  switch (start.kind) {
    case 'run':
      return inputContent(start.request.input);
    case 'agent':
      return inputContent(start.request.brief);
    case 'model': {
      const { instructions, messages, tools } = start.request;
      // Descriptions and parameters are large; the conventions leave them out by default.
      const names = tools.map(({ name }) => ({ type: 'function', name }));
      return {
        ...(instructions !== '' && { 'gen_ai.system_instructions': instructionParts(instructions) }),
        ...inputContent(messages),
        ...(names.length > 0 && { 'gen_ai.tool.definitions': names }),
      };
    }
    case 'tool':
      return { 'gen_ai.tool.call.arguments': boundedValue(start.request.args) };
    case 'memory': {
      const { query } = start.request;
      return typeof query === 'string' ? { 'gen_ai.memory.query.text': boundedValue(query) } : {};
    }
    case 'embedding':
      return {};
  }
}

/** Empty for a record that was rebuilt from a log without content. */
function inputContent(messages: readonly Message[]): { readonly [attribute: string]: Json } {
  return messages.length === 0 ? {} : { 'gen_ai.input.messages': inputMessages(messages) };
}

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
