import type { SpanStart } from '../../core/contract/instrument.ts';
import type { Json } from '../../core/values/json.ts';
import type { Message } from '../../core/values/message.ts';
import { boundedValue, inputMessages, instructionParts } from './parts.ts';

/** What was said when a span started, for `content: 'full'`. */
export function spoken(start: SpanStart): { readonly [attribute: string]: Json } {
  switch (start.kind) {
    case 'run':
      return heard(start.request.input);
    case 'agent':
      return heard(start.request.brief);
    case 'model': {
      const { instructions, messages, tools } = start.request;
      // Descriptions and parameters are large; the conventions leave them out by default.
      const names = tools.map(({ name }) => ({ type: 'function', name }));
      return {
        ...(instructions !== '' && { 'gen_ai.system_instructions': instructionParts(instructions) }),
        ...heard(messages),
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

/** Of a record that is told again it may not be known. */
function heard(messages: readonly Message[]): { readonly [attribute: string]: Json } {
  return messages.length === 0 ? {} : { 'gen_ai.input.messages': inputMessages(messages) };
}
