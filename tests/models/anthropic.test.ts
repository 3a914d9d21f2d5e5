import { describe, expect, test, vi } from 'vitest';
import type { Message } from '../../src/core/values/message.ts';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { type Answer, forecast, listening, play, request, silent } from './play.ts';

const KEY = 'sk-ant-test-abcdef123456';
const begin = (usage: object = { input_tokens: 25, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage },
});
const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const text = (index: number, ...pieces: string[]) =>
  block(index, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })));
const call = (index: number, id: string, ...pieces: string[]) =>
  block(
    index,
    { type: 'tool_use', id, name: 'get_forecast', input: {} },
    ...pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );
const end = (stop_reason: string, usage: object = { output_tokens: 12 }) => [
  { type: 'message_delta', delta: { stop_reason }, usage },
  { type: 'message_stop' },
];
const message = (content: object[], rest: object = {}): Answer => ({
  body: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content,
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
    ...rest,
  },
});

async function start(...answers: Answer[]) {
  const server = await play(...answers);
  return { server, model: anthropic('claude-x', { baseURL: `${server.url}/`, apiKey: KEY, cache: false }) };
}

describe('a message', () => {
  test('that is streamed gives the same turn as one that is not', async () => {
    const usage = { input_tokens: 8, output_tokens: 2, cache_creation_input_tokens: 20, cache_read_input_tokens: 500 };
    const { model, server } = await start(
      {
        events: [
          begin(usage),
          { type: 'ping' },
          ...text(0, 'Good ', 'day.'),
          ...end('end_turn', { output_tokens: 15 }),
        ],
      },
      message([{ type: 'text', text: 'Good day.' }], { usage: { ...usage, output_tokens: 15 } }),
    );
    const context = listening();
    const streamed = await model.generate(request(), context);
    expect(streamed).toEqual({
      content: [{ type: 'text', text: 'Good day.' }],
      stop: 'end',
      usage: { inputTokens: 528, outputTokens: 15, cachedInputTokens: 500, cacheWriteTokens: 20 },
      native: {
        api: 'messages',
        endpoint: new URL(server.url).host,
        turn: [{ type: 'text', text: 'Good day.' }],
      },
      response: { id: 'msg_1', model: 'claude-x' },
    });
    expect(await model.generate(request(), silent)).toEqual(streamed);
    expect(context.deltas).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'day.' },
    ]);
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages']);
    expect(server.requests[0]?.body).toMatchObject({ max_tokens: 16_384, system: 'Be brief.', stream: true });
  });

  test('holds calls whose indexes have gaps and whose fragments interleave', async () => {
    const [startA, a1, a2, stopA] = call(1, 'a', '{"city":', '"Turku"}');
    const [startB, b1, b2, stopB] = call(4, 'b', '{"ci', 'ty":"Oulu"}');
    const { model } = await start({
      events: [begin(), ...text(0, 'Look.'), startA, startB, b1, a1, a2, stopA, b2, stopB, ...end('end_turn')],
    });
    const turn = await model.generate(request({ tools: [forecast] }), listening());
    expect(turn.stop).toBe('tool_calls');
    expect(turn.content.slice(1)).toEqual([
      { type: 'tool_call', id: 'a', name: 'get_forecast', arguments: '{"city":"Turku"}' },
      { type: 'tool_call', id: 'b', name: 'get_forecast', arguments: '{"city":"Oulu"}' },
    ]);
  });

  test('takes the input of the start where no text of it follows', async () => {
    const whole = block(0, { type: 'tool_use', id: 'a', name: 'get_forecast', input: { city: 'Pori' } });
    const { model } = await start({ events: [begin(), ...whole, ...call(1, 'b', ''), ...end('tool_use')] });
    const { content } = await model.generate(request({ tools: [forecast] }), listening());
    expect(content).toMatchObject([{ arguments: '{"city":"Pori"}' }, { arguments: '{}' }]);
  });

  test('that pauses says so', async () => {
    const { model } = await start({ events: [begin(), ...text(0, 'Searching.'), ...end('pause_turn')] });
    expect((await model.generate(request(), listening())).stop).toBe('paused');
  });

  test('leaves its connection open for the next step', async () => {
    const { model, server } = await start({ events: [begin(), ...text(0, 'x'), ...end('end_turn')], ends: 'late' });
    await model.generate(request(), listening());
    await vi.waitFor(async () => {
      const before = server.ports.size;
      await model.generate(request(), listening());
      expect(server.ports.size).toBe(before);
    });
  });
});

describe('a message is an error, never half a turn,', () => {
  const begun = [begin(), ...text(0, 'Half'), ...call(1, 'a', '{"city":"Oulu"}')];
  test.each<[string, Answer, object]>([
    ['when it ends early', { events: begun }, { kind: 'network', retryable: true }],
    ['when the connection breaks', { events: begun, ends: 'cut' }, { kind: 'network', retryable: true }],
    [
      'when an event holds an error',
      { events: [...begun, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }] },
      { kind: 'overloaded', retryable: true, status: undefined },
    ],
    [
      'when the length limit cuts a call',
      { events: [...begun, ...end('max_tokens')] },
      { kind: 'output_truncated', retryable: false },
    ],
    ['when it is a refusal', { events: [...begun, ...end('refusal')] }, { kind: 'refusal', retryable: false }],
  ])('%s', async (_, answer, expected) => {
    const { model } = await start(answer);
    await expect(model.generate(request({ tools: [forecast] }), listening())).rejects.toMatchObject(expected);
  });

  test('when only pings come for idleTimeoutMs', async () => {
    const beat = 'event: ping\ndata: {"type":"ping"}\n\n';
    const server = await play({ events: [begin()], beat, ends: 'hold' });
    const model = anthropic('claude-x', { baseURL: server.url, idleTimeoutMs: 500 });
    await expect(model.generate(request(), listening())).rejects.toMatchObject({ kind: 'timeout', retryable: true });
    await server.closed;
  });

  test('when the caller aborts it: then it rejects with the reason', async () => {
    const server = await play({ events: [begin(), ...text(0, 'x')], ends: 'hold' });
    const model = anthropic('claude-x', { baseURL: server.url });
    const controller = new AbortController();
    const reason = new Error('enough');
    const generated = model.generate(request(), { signal: controller.signal, onDelta: () => controller.abort(reason) });
    await expect(generated).rejects.toBe(reason);
    await server.closed;
  });
});

test.each<[number, object, object]>([
  [401, { type: 'authentication_error', message: `invalid x-api-key ${KEY}` }, { kind: 'auth', retryable: false }],
  [403, { type: 'permission_error', message: 'x' }, { kind: 'permission' }],
  [404, { type: 'not_found_error', message: 'model: x' }, { kind: 'not_found' }],
  [413, { type: 'request_too_large', message: 'Request exceeds the maximum size' }, { kind: 'request_too_large' }],
  [400, { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' }, { kind: 'context_length' }],
  [400, { type: 'invalid_request_error', message: 'Your credit balance is too low' }, { kind: 'quota' }],
  [429, { type: 'rate_limit_error', message: 'slow' }, { kind: 'rate_limit', retryAfterMs: 3000, retryable: true }],
  [529, { type: 'overloaded_error', message: 'Overloaded' }, { kind: 'overloaded', retryable: true }],
])('HTTP %i %o is an error of one kind', async (status, error, expected) => {
  const { model, server } = await start({ status, headers: { 'retry-after': '3' }, body: { type: 'error', error } });
  const thrown = await model.generate(request(), silent).catch((caught) => caught);
  expect(thrown).toMatchObject({ name: 'ModelError', status, ...expected });
  expect(`${thrown.message}${thrown.stack}`).not.toContain(KEY);
  expect(server.requests).toHaveLength(1);
});

describe('a request', () => {
  const sent = async (part: Parameters<typeof request>[0]) => {
    const { model, server } = await start(message([{ type: 'text', text: 'x' }]));
    await model.generate(request(part), silent);
    return server.requests[0]?.body ?? {};
  };
  const result = (callId: string, content: string): Message => ({
    role: 'tool',
    callId,
    name: 'get_forecast',
    content,
    isError: content === 'broken',
  });

  test("sends the provider's own blocks back in order, and all results in one user message, first in it", async () => {
    const thinking = (index: number, thought: string, signature: string) =>
      block(
        index,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: thought },
        { type: 'signature_delta', signature },
      );
    const { model, server } = await start({
      events: [
        begin(),
        ...thinking(0, 'First.', 'c2ln'),
        ...call(1, 'a', '{"city":"Oulu"}'),
        ...text(2, ''),
        ...block(5, { type: 'redacted_thinking', data: '' }),
        ...block(6, { type: 'redacted_thinking', data: 'b3BhcXVl' }),
        ...thinking(3, 'Then.', 'c2lu'),
        ...call(4, 'b', '{'),
        ...end('tool_use'),
      ],
    });
    const turn = await model.generate(request({ tools: [forecast] }), listening());
    const messages = (provider: string): Message[] => [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: turn.content, native: { provider, turn: turn.native ?? null } },
      result('a', 'sunny'),
      result('b', 'broken'),
      { role: 'user', content: 'Hurry.' },
    ];
    await model.generate(request({ messages: messages('anthropic') }), listening());
    await model.generate(request({ messages: messages('openai') }), listening());
    const [, own, other] = server.requests.map(({ body }) => body.messages);
    const calls = [
      { type: 'tool_use', id: 'a', name: 'get_forecast', input: { city: 'Oulu' } },
      { type: 'tool_use', id: 'b', name: 'get_forecast', input: { INVALID_JSON: '{' } },
    ];
    expect(own?.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'First.', signature: 'c2ln' },
          calls[0],
          { type: 'redacted_thinking', data: 'b3BhcXVl' },
          { type: 'thinking', thinking: 'Then.', signature: 'c2lu' },
          calls[1],
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'sunny' }] },
          { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'broken' }], is_error: true },
          { type: 'text', text: 'Hurry.' },
        ],
      },
    ]);
    expect(other?.[1]?.content).toEqual(calls);
  });

  test('does not begin to think in the middle of a turn that began without a thought', async () => {
    const call = { type: 'tool_call', id: 'a', name: 'get_forecast', arguments: '{}' } as const;
    const native = (block: object): Message => {
      const { api, endpoint } = { api: 'messages', endpoint: new URL(server.url).host };
      const turn = [block, { type: 'tool_use', id: 'a', name: 'get_forecast', input: {} }];
      return {
        role: 'assistant',
        content: [call],
        native: { provider: 'anthropic', turn: { api, endpoint, turn } as never },
      };
    };
    const server = await play({ status: 400, body: {} });
    const model = anthropic('m', { baseURL: server.url });
    const thinks = async (messages: readonly Message[], settings: object) => {
      await model.generate(request({ tools: [forecast], messages, settings: { ...settings } }), silent).catch(() => {});
      return 'thinking' in (server.requests.at(-1)?.body ?? {});
    };
    const user: Message = { role: 'user', content: 'Go.' };
    const foreign: Message = { role: 'assistant', content: [call] };
    const thought = native({ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' });
    const unsigned = native({ type: 'thinking', thinking: 'Hm.', signature: '' });
    for (const settings of [{ reasoningEffort: 'low' }, { thinking: { type: 'enabled', budget_tokens: 2000 } }]) {
      expect(await thinks([user], settings)).toBe(true);
      expect(await thinks([user, foreign, result('a', 'sunny')], settings)).toBe(false);
      expect(await thinks([user, unsigned, result('a', 'sunny')], settings)).toBe(false);
      expect(await thinks([user, thought, result('a', 'sunny')], settings)).toBe(true);
      expect(
        await thinks([user, foreign, result('a', 'sunny'), { role: 'assistant', content: [] }, user], settings),
      ).toBe(false);
      const said: Message = { role: 'assistant', content: [{ type: 'text', text: 'Sunny.' }] };
      expect(await thinks([user, foreign, result('a', 'sunny'), said, user], settings)).toBe(true);
    }
    expect(await thinks([user, foreign, result('a', 'sunny')], { thinking: { type: 'adaptive' } })).toBe(true);
  });

  test('that holds calls declares their tools, also for an agent that has none, and forbids them there', async () => {
    const call = (id: string, name: string) => ({ type: 'tool_call', id, name, arguments: '{}' }) as const;
    const content = [call('a', 'get_forecast'), call('b', 'get.news'), call('c', 'get_forecast')];
    const results = content.map(
      ({ id, name }) => ({ role: 'tool', callId: id, name, content: 'x', isError: false }) as const,
    );
    const messages: Message[] = [{ role: 'user', content: 'Go.' }, { role: 'assistant', content }, ...results];
    const body = await sent({ messages });
    expect(body.tools).toEqual([
      { name: 'get_forecast', description: 'Not available.', input_schema: { type: 'object' } },
      { name: expect.stringMatching(/^get_news_/), description: 'Not available.', input_schema: { type: 'object' } },
    ]);
    expect(body.tool_choice).toEqual({ type: 'none' });
    const own = await sent({ messages, tools: [forecast] });
    expect(own.tools).toHaveLength(1);
    expect(own).not.toHaveProperty('tool_choice');
    expect(await sent({ messages: messages.slice(0, 1) })).not.toHaveProperty('tools');
  });

  test('holds no blank text, no empty list and no lone surrogate', async () => {
    const body = await sent({
      instructions: ' ',
      messages: [
        { role: 'user', content: ' ' },
        { role: 'assistant', content: [{ type: 'text', text: '' }] },
        { role: 'user', content: 'cut \ud83d' },
        result('a:1', ''),
      ],
    });
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'cut \ufffd' },
          { type: 'tool_result', tool_use_id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/) },
        ],
      },
    ]);
    expect(body).not.toHaveProperty('system');
    expect(body).not.toHaveProperty('tools');
  });

  test('carries pictures and files as bytes and by URL', async () => {
    const data = Buffer.from('plain').toString('base64');
    const body = await sent({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', mediaType: 'image/png', data: 'AAAA' },
            { type: 'file', mediaType: 'application/pdf', data: { url: 'https://x.test/a.pdf' }, name: 'a' },
            { type: 'file', mediaType: 'text/csv', data },
          ],
        },
      ],
    });
    expect(body.messages?.[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' }, title: 'a' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
    ]);
    const zip = { type: 'file', mediaType: 'application/zip', data: 'AAAA' } as const;
    const refused = sent({ messages: [{ role: 'user', content: [zip] }] });
    await expect(refused).rejects.toMatchObject({ kind: 'invalid_request' });
  });

  test('sends choice, settings and tools, unions at the root moved into words', async () => {
    const parameters = {
      type: 'object',
      anyOf: [
        { properties: { id: { type: 'string' } }, required: ['id'] },
        { properties: { name: { type: 'string' } } },
      ],
    };
    const body = await sent({
      tools: [{ ...forecast, parameters }],
      toolChoice: 'required',
      settings: { temperature: 0.5, maxOutputTokens: 99, thinking: { type: 'disabled' } },
    });
    expect(body).toMatchObject({
      tool_choice: { type: 'any' },
      temperature: 0.5,
      max_tokens: 99,
      thinking: { type: 'disabled' },
    });
    expect(body.tools).toEqual([
      {
        name: 'get_forecast',
        description: expect.stringContaining('"required":["id"]'),
        input_schema: { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' } } },
      },
    ]);
  });

  test('asks a server that only speaks the protocol for its answer by a tool, and Anthropic by its schema', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
    const output = { name: 'answer', schema };
    const byTool = await sent({ output });
    expect(byTool.tools).toMatchObject([{ name: 'final_answer', input_schema: schema }]);
    expect(byTool).not.toHaveProperty('output_config');
    const { Anthropic } = await import('@anthropic-ai/sdk');
    const bodies: string[] = [];
    const client = new Anthropic({
      apiKey: KEY,
      fetch: async (_, init) => {
        bodies.push(String(init?.body));
        return Response.json(message([{ type: 'text', text: '{"n":1}' }]).body);
      },
    });
    await anthropic('claude-sonnet-5', { client }).generate(request({ output }), silent);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ output_config: { format: { type: 'json_schema', schema } } });
  });
});

test('anthropic() asks for maxOutputTokens and refuses what it does not know by name', () => {
  expect(anthropic('claude-x')).toMatchObject({
    provider: 'anthropic',
    needsMaxOutputTokens: true,
    server: { address: 'api.anthropic.com', port: 443 },
  });
  expect(() => anthropic('claude-x', { dialect: 'x' } as never)).toThrow(/dialect/);
  expect(() => anthropic('claude-x', { cache: '2h' } as never)).toThrow(/cache/);
  expect(() => anthropic('', {})).toThrow(/id/);
});
