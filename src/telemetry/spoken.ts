import type { Json } from '../core/json.ts';
import type { SpanStart } from '../core/record.ts';
import { boundedValue, inputMessages, instructionParts } from './parts.ts';

/** What was said when a span started, for `content: 'full'`. */
export function spoken(start: SpanStart): { readonly [attribute: string]: Json } {
  switch (start.kind) {
    case 'run':
      return { 'gen_ai.input.messages': inputMessages(start.request.input) };
    case 'agent':
      return { 'gen_ai.input.messages': inputMessages(start.request.brief) };
    case 'model': {
      const { instructions, messages, tools } = start.request;
      return {
        ...(instructions === '' ? {} : { 'gen_ai.system_instructions': instructionParts(instructions) }),
        'gen_ai.input.messages': inputMessages(messages),
        // Descriptions and parameters are large; the conventions leave them out by default.
        'gen_ai.tool.definitions': tools.map(({ name }) => ({ type: 'function', name })),
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
