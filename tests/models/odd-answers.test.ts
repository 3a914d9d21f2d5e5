/** What servers have sent that no specification foresees: each is a turn or an error of a known kind. */
import { describe, expect, test } from 'vitest';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { assembleResponsesTurn } from '../../src/models/openai/responses-turn.ts';
import { type Answer, forecast, listening, play, request, silent } from './play.ts';

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const message = (input: unknown): Answer => ({
  body: {
    type: 'message',
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', id: 'a', name: 'get_forecast', input }],
  },
});
const streamed = (json: string): Answer => ({
  events: [
    { type: 'message_start', message: {} },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'a', name: 'get_forecast', input: {} },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json } },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' },
  ],
});

describe('a call of Anthropic’s protocol', () => {
  test.each<[string, Answer, string, object]>([
    ['has its input as text', message('{"city":"Oulu"}'), '{"city":"Oulu"}', { city: 'Oulu' }],
    ['has a list as input', message([1]), '[1]', { INVALID_JSON: '[1]' }],
    ['has no input', message(null), '{}', {}],
    ['is nested 100,000 deep', streamed(deep(100_000)), deep(100_000), { INVALID_JSON: '(nested too deep)' }],
  ])('that %s is handed on as it came, and goes back as an object', async (_what, answer, text, input) => {
    const server = await play(answer);
    const model = anthropic('m', { baseURL: server.url, cache: false });
    const turn = await model.generate(request({ tools: [forecast] }), answer.events ? listening() : silent);
    expect(turn.content).toEqual([{ type: 'tool_call', id: 'a', name: 'get_forecast', arguments: text }]);
    const native = { provider: 'anthropic', turn: turn.native ?? null };
    const messages = [{ role: 'assistant', content: turn.content, native }] as const;
    await model.generate(request({ messages }), silent).catch(() => {});
    const [, sent] = (server.requests[1]?.body.messages ?? []) as readonly { content: { input: object }[] }[];
    expect(sent?.content[0]?.input).toEqual(input);
  });

  test('whose text filled the context window is not gone on with', async () => {
    const content = [{ type: 'text', text: 'Half' }];
    const server = await play({ body: { type: 'message', stop_reason: 'model_context_window_exceeded', content } });
    const call = anthropic('m', { baseURL: server.url }).generate(request(), silent);
    await expect(call).rejects.toMatchObject({ kind: 'output_truncated', retryable: false });
  });
});

describe('a stream', () => {
  const text = 'data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  test.each(['application/json', 'text/plain', 'application/octet-stream'])('may be called %s', async (type) => {
    const server = await play({ body: text, headers: { 'content-type': type } });
    const turn = await openai('m', { baseURL: server.url }).generate(request(), listening());
    expect(turn.content).toEqual([{ type: 'text', text: 'Hi.' }]);
  });
});

test('a response whose items are only said whole by parts is whole', () => {
  const item = { type: 'function_call', id: 'f', call_id: 'c', name: 'n', arguments: '' };
  const turn = assembleResponsesTurn(
    [
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.function_call_arguments.done', item_id: 'f', output_index: 0, arguments: '{"a":1}' },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    ],
    { names: new Map(), newId: () => 'made', origin: { api: 'responses', endpoint: 'here' } },
  );
  expect(turn.content).toEqual([{ type: 'tool_call', id: 'c', name: 'n', arguments: '{"a":1}' }]);
});
