import type { SpanStart } from '../../core/contract/instrument.ts';
import type { Json } from '../../core/values/json.ts';
import type { Message } from '../../core/values/message.ts';
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
