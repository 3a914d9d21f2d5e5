import { describe, expect, test } from 'vitest';
import type { ModelTurn } from '../../src/core/values/model.ts';
import { withPrintedCall } from '../../src/models/answer/printed-call.ts';
import { forecast } from './play.ts';

const read = (text: string, more: Partial<ModelTurn> = {}, offered = [forecast]) =>
  withPrintedCall({ content: [{ type: 'text', text }], stop: 'end', native: {}, ...more }, offered, () => 'made');
const JSON_CALL = '{"name": "get_forecast", "arguments": {"city": "Oulu", "n": 12345678901234567890}}';

describe('a text that is', () => {
  test.each([
    `<tool_call>\n${JSON_CALL}\n</tool_call>`,
    `[TOOL_CALLS][${JSON_CALL}]`,
    `<|python_tag|>${JSON_CALL.replace('arguments', 'parameters')}<|eom_id|>`,
  ])('exactly one offered call between marks is that call: %s', (text) => {
    expect(read(text)).toEqual({
      content: [
        {
          type: 'tool_call',
          id: 'made',
          name: 'get_forecast',
          arguments: '{"city": "Oulu", "n": 12345678901234567890}',
        },
      ],
      stop: 'tool_calls',
    });
  });

  test.each([
    ['bare JSON', JSON_CALL],
    ['in a fence', `\`\`\`json\n${JSON_CALL}\n\`\`\``],
    ['with words before it', `I call <tool_call>${JSON_CALL}</tool_call>`],
    ['with words after it', `<tool_call>${JSON_CALL}</tool_call> Done.`],
    ['two calls', `<tool_call>${JSON_CALL}</tool_call><tool_call>${JSON_CALL}</tool_call>`],
    ['a call of another tool', `<tool_call>${JSON_CALL.replace('get_', 'set_')}</tool_call>`],
    ['a call with more fields', `<tool_call>${JSON_CALL.replace('{', '{"private": true, ')}</tool_call>`],
    ['cut', `<tool_call>${JSON_CALL}`],
    ['a call whose arguments are no object', '<tool_call>{"name": "get_forecast", "arguments": "Oulu"}</tool_call>'],
  ])('%s stays a text', (_what, text) => {
    expect(read(text).content).toEqual([{ type: 'text', text }]);
  });

  test('a call stays a text where no tool is offered, and where it was cut', () => {
    const text = `<tool_call>${JSON_CALL}</tool_call>`;
    expect(read(text, {}, []).stop).toBe('end');
    expect(read(text, { stop: 'length' }).stop).toBe('length');
  });
});
