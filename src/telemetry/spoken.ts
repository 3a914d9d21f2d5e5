import type { SpanStart } from '../core/record.ts';
import { instructionsText, messagesText, valueText } from './parts.ts';

/** What was said when a span started, for `content: 'full'`. */
export function spoken(start: SpanStart): Record<string, string> {
  switch (start.kind) {
    case 'run':
      return { 'gen_ai.input.messages': messagesText(start.request.input) };
    case 'agent':
      return { 'gen_ai.input.messages': messagesText(start.request.brief) };
    case 'model': {
      const { instructions, messages, tools } = start.request;
      return {
        ...(instructions === '' ? {} : { 'gen_ai.system_instructions': instructionsText(instructions) }),
        'gen_ai.input.messages': messagesText(messages),
        // Descriptions and parameters are large; the conventions leave them out by default.
        'gen_ai.tool.definitions': JSON.stringify(tools.map(({ name }) => ({ type: 'function', name }))),
      };
    }
    case 'tool':
      return { 'gen_ai.tool.call.arguments': valueText(start.request.args) };
    case 'memory': {
      const { query } = start.request;
      return typeof query === 'string' ? { 'gen_ai.memory.query.text': valueText(query) } : {};
    }
    case 'embedding':
      return {};
  }
}
