import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/core/values/message.ts';
import { openai } from '../../src/models/openai/index.ts';
import { type Answer, forecast, listening, play, request, silent } from './play.ts';

const KEY = 'sk-test-abcdef123456';
const chunk = (delta: object, rest: object = {}) => ({
  id: 'c1',
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
});
const end = (reason: string) => chunk({}, { finish_reason: reason });
const fragment = (index: number, args: string, id?: string, name?: string) =>
  chunk({
    tool_calls: [
      {
        index,
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), arguments: args },
      },
    ],
  });
const whole = (message: object, rest: object = {}): Answer => ({
  body: {
    id: 'c1',
    model: 'm-1',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    ...rest,
  },
});

async function start(...answers: Answer[]) {
  const server = await play(...answers);
  return { server, model: openai('m', { baseURL: `${server.url}/v1/`, apiKey: KEY }) };
}

async function failure(answer: Answer, context = listening()) {
  const { model } = await start(answer);
  return expect(model.generate(request({ tools: [forecast] }), context)).rejects;
}

describe('a chat completion', () => {
  test('that is streamed gives the same turn as one that is not', async () => {
    const usage = {
      prompt_tokens: 900,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 768 },
      completion_tokens_details: { reasoning_tokens: 32 },
    };
    const { model, server } = await start(
      {
        events: [
          chunk({ content: 'Good ' }),
          chunk({ content: 'day.' }),
          { ...end('stop'), model: 'm-1' },
          { choices: [], usage },
          '[DONE]',
        ],
      },
      whole({ content: 'Good day.' }, { usage }),
    );
    const context = listening();
    const streamed = await model.generate(request(), context);
    expect(streamed).toEqual({
      content: [{ type: 'text', text: 'Good day.' }],
      stop: 'end',
      usage: { inputTokens: 900, outputTokens: 50, cachedInputTokens: 768, reasoningTokens: 32 },
      native: { api: 'chat', endpoint: new URL(server.url).host, turn: { role: 'assistant', content: 'Good day.' } },
      response: { id: 'c1', model: 'm-1' },
    });
    expect(await model.generate(request(), silent)).toEqual(streamed);
    expect(context.deltas).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'day.' },
    ]);
    expect(server.requests.map(({ path, body }) => [path, body.stream])).toEqual([
      ['/v1/chat/completions', true],
      ['/v1/chat/completions', undefined],
    ]);
  });

  test('that never reports usage has none', async () => {
    const { model } = await start({ events: [chunk({ content: 'a' }), end('stop'), '[DONE]'] });
    expect(await model.generate(request(), listening())).not.toHaveProperty('usage');
  });

  test('holds parallel calls whose fragments interleave', async () => {
    const { model } = await start({
      events: [
        fragment(0, '', 'a', 'get_forecast'),
        fragment(1, '', 'b', 'get_forecast'),
        fragment(0, '{"city":'),
        fragment(1, '{"city":"O'),
        fragment(0, '"Turku"}'),
        fragment(1, 'ulu"}'),
        end('stop'),
        '[DONE]',
      ],
    });
    const context = listening();
    const turn = await model.generate(request({ tools: [forecast] }), context);
    expect(turn.stop).toBe('tool_calls');
    expect(turn.content).toEqual([
      { type: 'tool_call', id: 'a', name: 'get_forecast', arguments: '{"city":"Turku"}' },
      { type: 'tool_call', id: 'b', name: 'get_forecast', arguments: '{"city":"Oulu"}' },
    ]);
    expect(context.deltas.map((delta) => (delta.type === 'tool_call' ? delta.index : -1))).toEqual([0, 1, 0, 1, 0, 1]);
  });

  test('gets ids where they are missing or repeated', async () => {
    const call = { id: 'same', function: { name: 'get_forecast', arguments: '{}' } };
    const { model } = await start(whole({ content: null, tool_calls: [call, call, { ...call, id: '' }] }));
    const { content } = await model.generate(request({ tools: [forecast] }), silent);
    const ids = content.map((part) => (part.type === 'tool_call' ? part.id : ''));
    expect(ids[0]).toBe('same');
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id !== '')).toBe(true);
  });

  test('is complete at its finish_reason, even when the connection breaks or falls silent then', async () => {
    const events = [chunk({ content: 'All.' }), end('stop')];
    const cut = await start({ events, ends: 'cut' });
    expect((await cut.model.generate(request(), listening())).content).toEqual([{ type: 'text', text: 'All.' }]);
    const held = await play({ events, ends: 'hold' });
    const model = openai('m', { baseURL: held.url });
    expect((await model.generate(request(), listening())).content).toEqual([{ type: 'text', text: 'All.' }]);
    await held.closed;
  });

  test('may be one JSON object although a stream was asked for', async () => {
    const { model } = await start(whole({ content: 'Plain.' }));
    expect((await model.generate(request(), listening())).content).toEqual([{ type: 'text', text: 'Plain.' }]);
  });
});

describe('a chat completion is an error, never half a turn,', () => {
  const begun = [chunk({ content: 'Half' }), fragment(0, '{"city":"Oulu"}', 'a', 'get_forecast')];
  test.each<[string, Answer, object]>([
    ['when it ends early', { events: begun }, { kind: 'network', retryable: true }],
    ['when the connection breaks', { events: begun, ends: 'cut' }, { kind: 'network', retryable: true }],
    [
      'when it is cut inside an event',
      { events: begun, raw: 'data: {"choices":[{"de' },
      { kind: 'network', retryable: true },
    ],
    [
      'when an event holds an error',
      { events: [...begun, { error: { message: 'Upstream is overloaded' } }, '[DONE]'] },
      { kind: 'overloaded', retryable: true },
    ],
    [
      'when the length limit cuts a call',
      { events: [...begun, end('length'), '[DONE]'] },
      { kind: 'output_truncated', retryable: false },
    ],
    [
      'when a filter stops it',
      { events: [...begun, end('content_filter'), '[DONE]'] },
      { kind: 'content_filter', retryable: false },
    ],
    ['when it is a refusal', whole({ content: null, refusal: 'No.' }), { kind: 'refusal', retryable: false }],
    ['when it has no choices', { body: { choices: [] } }, { kind: 'empty_response' }],
    [
      'when it is an error under status 200',
      { body: { error: { code: 502, message: 'x' } } },
      { kind: 'server_error', retryable: true },
    ],
    ['when it is a page', { body: '<html>login</html>' }, { kind: 'malformed_response' }],
  ])('%s', async (_, answer, expected) => {
    await (
      await failure(answer, { ...listening(), ...(answer.events || answer.raw ? {} : { onDelta: undefined as never }) })
    ).toMatchObject(expected);
  });

  test('when nothing moves it on for idleTimeoutMs, whatever pings come', async () => {
    const beat = 'data: {"choices":[{"index":0,"delta":{}}]}\n\n';
    const server = await play({ events: [chunk({ content: 'Well' })], beat, ends: 'hold' });
    const model = openai('m', { baseURL: server.url, idleTimeoutMs: 500 });
    await expect(model.generate(request(), listening())).rejects.toMatchObject({ kind: 'timeout', retryable: true });
    await server.closed;
  });

  test('when it takes longer than timeoutMs', async () => {
    const server = await play({ ends: 'hold' });
    const model = openai('m', { baseURL: server.url, timeoutMs: 60 });
    await expect(model.generate(request(), silent)).rejects.toMatchObject({ kind: 'timeout' });
  });
});

describe('an HTTP error', () => {
  test.each<[string, Answer, object]>([
    [
      '401',
      { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}.`, code: 'invalid_api_key' } } },
      { kind: 'auth', status: 401, retryable: false },
    ],
    [
      '429 with seconds',
      { status: 429, headers: { 'retry-after': '7' }, body: { error: { message: 'slow' } } },
      { kind: 'rate_limit', retryAfterMs: 7000, retryable: true },
    ],
    [
      '429 with milliseconds',
      { status: 429, headers: { 'retry-after': '7', 'retry-after-ms': '120' }, body: {} },
      { kind: 'rate_limit', retryAfterMs: 120 },
    ],
    [
      '429 without money',
      { status: 429, body: { error: { code: 'insufficient_quota', message: 'x' } } },
      { kind: 'quota', retryable: false },
    ],
    [
      '400 of a long prompt, vLLM',
      {
        status: 400,
        body: { object: 'error', message: "This model's maximum context length is 8 tokens.", code: 400 },
      },
      { kind: 'context_length', retryable: false },
    ],
    [
      '400 in a list, Gemini',
      { status: 400, body: [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'Bad tool' } }] },
      { kind: 'invalid_request', message: expect.stringContaining('Bad tool') },
    ],
    ['400 as text', { status: 400, body: 'no' }, { kind: 'invalid_request', message: expect.stringContaining('no') }],
    [
      '502 as a page',
      { status: 502, body: '<html><title>502 Bad Gateway</title></html>' },
      { kind: 'server_error', retryable: true, message: expect.stringContaining('502 Bad Gateway') },
    ],
    [
      '500 that says not to retry',
      { status: 500, headers: { 'x-should-retry': 'false' }, body: {} },
      { kind: 'server_error', retryable: false },
    ],
  ])('%s has one meaning', async (_, answer, expected) => {
    const { model, server } = await start(answer);
    const thrown = await model.generate(request(), silent).catch((error) => error);
    expect(thrown).toMatchObject({ name: 'ModelError', ...expected });
    expect(`${thrown.message}${thrown.stack}${JSON.stringify(thrown)}`).not.toContain(KEY);
    expect(server.requests).toHaveLength(1);
  });

  test('of a connection that is refused is a network error', async () => {
    const model = openai('m', { baseURL: 'http://127.0.0.1:9/v1' });
    await expect(model.generate(request(), silent)).rejects.toMatchObject({ kind: 'network', retryable: true });
  });
});

describe('an abort', () => {
  test('rejects with its reason and closes the connection', async () => {
    const server = await play({ events: [chunk({ content: 'Well' })], ends: 'hold' });
    const model = openai('m', { baseURL: server.url });
    const controller = new AbortController();
    const reason = new Error('enough');
    const generated = model.generate(request(), { signal: controller.signal, onDelta: () => controller.abort(reason) });
    await expect(generated).rejects.toBe(reason);
    await server.closed;
  });

  test('before the call sends nothing', async () => {
    const { model, server } = await start(whole({ content: 'x' }));
    await expect(model.generate(request(), { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(server.requests).toHaveLength(0);
  });
});

describe('a chat request', () => {
  const sent = async (part: Parameters<typeof request>[0], options: Parameters<typeof openai>[1] = {}) => {
    const server = await play(whole({ content: 'x' }));
    await openai('m', { baseURL: server.url, ...options }).generate(request(part), silent);
    return { body: server.requests[0]?.body ?? {}, headers: server.requests[0]?.headers ?? {} };
  };

  test("sends the server's own turn back as it came, to that provider only", async () => {
    const tool_calls = [
      {
        id: 'a',
        type: 'function',
        function: { name: 'get_forecast', arguments: '{"city":"Pori"}' },
        extra_content: { google: { thought_signature: 'c2ln' } },
      },
    ];
    const { model, server } = await start({
      events: [
        chunk({ role: 'assistant', reasoning_content: 'I need ' }),
        chunk({ reasoning_content: 'the weather.' }),
        chunk({ tool_calls: tool_calls.map((call) => ({ ...call, index: 0 })) }),
        end('tool_calls'),
        '[DONE]',
      ],
    });
    const turn = await model.generate(request({ tools: [forecast] }), listening());
    const again = (provider: string): Message[] => [
      { role: 'assistant', content: turn.content, native: { provider, turn: turn.native ?? null } },
      { role: 'tool', callId: 'a', name: 'get_forecast', content: 'sunny', isError: false },
    ];
    await model.generate(request({ messages: again('openai') }), listening()).catch(() => undefined);
    await model.generate(request({ messages: again('anthropic') }), listening()).catch(() => undefined);
    const [, own, other] = server.requests.map(({ body }) => body.messages?.slice(1));
    expect(own).toEqual([
      { role: 'assistant', content: null, reasoning_content: 'I need the weather.', tool_calls },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    ]);
    const { extra_content: _, ...plain } = tool_calls[0] ?? {};
    expect(other?.[0]).toEqual({ role: 'assistant', content: null, tool_calls: [plain] });
  });

  test('names the token limit as the server knows it and passes other settings on', async () => {
    const { body } = await sent({ settings: { temperature: 0, maxOutputTokens: 5, top_p: 0.5 } });
    expect(body).toMatchObject({ temperature: 0, max_tokens: 5, top_p: 0.5 });
    expect(body).not.toHaveProperty('max_completion_tokens');
    expect(body).not.toHaveProperty('tools');
  });

  test('refuses settings that it writes itself, and more tools than the API takes', async () => {
    await expect(sent({ settings: { n: 2 } })).rejects.toMatchObject({ field: 'settings.n' });
    const tools = Array.from({ length: 129 }, (_, index) => ({ ...forecast, name: `t${index}` }));
    await expect(sent({ tools })).rejects.toMatchObject({ field: 'tools' });
  });

  test('maps tool names that are not legal, there and back', async () => {
    const name = 'crm.contacts/find by name';
    const first = await sent({ tools: [{ ...forecast, name }], toolChoice: { name } });
    const wire: string = JSON.parse(JSON.stringify(first.body.tools))[0].function.name;
    expect(wire).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(first.body.tool_choice).toEqual({ type: 'function', function: { name: wire } });
    const { model } = await start(whole({ tool_calls: [{ id: 'a', function: { name: wire, arguments: '{}' } }] }));
    expect((await model.generate(request({ tools: [{ ...forecast, name }] }), silent)).content).toMatchObject([
      { name },
    ]);
  });

  test('holds no lone surrogate', async () => {
    const { body } = await sent({
      messages: [
        { role: 'user', content: 'cut \ud83d' },
        { role: 'tool', callId: 'a', name: 'x', content: '\ude00', isError: false },
      ],
    });
    expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f]/i);
  });

  test('carries pictures and files, those of results after the results', async () => {
    const { body } = await sent({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', mediaType: 'image/png', data: 'AAAA' },
            { type: 'file', mediaType: 'application/pdf', data: 'AAAA', name: 'a.pdf' },
            { type: 'image', mediaType: 'image/png', data: { url: 'https://x.test/a.png' } },
          ],
        },
        {
          role: 'tool',
          callId: 'a',
          name: 'x',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image', mediaType: 'image/png', data: 'BBBB' },
          ],
          isError: false,
        },
        { role: 'tool', callId: 'b', name: 'x', content: 'none', isError: true },
      ],
    });
    expect(body.messages?.slice(1)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'see' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: none' },
      {
        role: 'user',
        content: [
          { type: 'text', text: expect.any(String) },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,BBBB' } },
        ],
      },
    ]);
  });

  test('is strict about an output only where the schema allows it', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer', minimum: 0 } },
      required: ['n'],
      additionalProperties: false,
    };
    const strict = await sent({ output: { name: 'answer', schema } });
    const { minimum: _, ...n } = schema.properties.n;
    expect(strict.body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', strict: true, schema: { ...schema, properties: { n } } },
    });
    const loose = await sent({ output: { name: 'answer', schema: { ...schema, required: [] } } });
    expect(loose.body.response_format).toMatchObject({ json_schema: { strict: false } });
    const none = await sent({ output: { name: 'answer', schema: { type: 'array' } } });
    expect(none.body).not.toHaveProperty('response_format');
    expect(JSON.stringify(none.body.messages)).toContain('JSON Schema');
  });

  test("tells a server of the user's own nothing of OpenAI's key", async () => {
    process.env.OPENAI_API_KEY = 'sk-real-0123456789';
    try {
      const { headers } = await sent({}, { headers: { 'x-team': 'search' } });
      expect(headers.authorization).not.toContain('sk-real');
      expect(headers['x-team']).toBe('search');
    } finally {
      delete process.env.OPENAI_API_KEY;
    }
  });
});

describe('openai()', () => {
  test.each<[string, object]>([
    ['api', { api: 'completions' }],
    ['dialect', { dialect: 'claude' }],
    ['debug', { debug: true }],
    ['debug', { debug: () => {}, client: {} }],
    ['extra', { extra: 'x' }],
    ['baseUrl', { baseUrl: 'http://x' }],
    ['baseURL', { baseURL: 'localhost' }],
    ['stream', { stream: 'yes' }],
    ['idleTimeoutMs', { idleTimeoutMs: Number.POSITIVE_INFINITY }],
    ['retry.times', { retry: { times: 3 } }],
    ['client', { client: {}, apiKey: 'x' }],
  ])('refuses %s by name in %o', (field, options) => {
    expect(() => openai('m', options as never)).toThrow(expect.objectContaining({ name: 'ConfigurationError', field }));
  });

  test('describes itself without loading anything', () => {
    const model = openai('m', {
      baseURL: 'http://localhost:11434/v1',
      retry: { retries: 1 },
      limits: { contextTokens: 8192 },
    });
    expect(model).toMatchObject({
      provider: 'openai',
      id: 'm',
      retry: { retries: 1 },
      limits: { contextTokens: 8192 },
      timeoutMs: 600_000,
      server: { address: 'localhost', port: 11434 },
    });
  });

  test("uses a client of the user's own, with its retries off", async () => {
    const { OpenAI } = await import('openai');
    const server = await play({ status: 503, body: { error: { message: 'busy' } } });
    const model = openai('m', { client: new OpenAI({ apiKey: KEY, baseURL: server.url, maxRetries: 5 }) });
    await expect(model.generate(request(), silent)).rejects.toMatchObject({ kind: 'overloaded' });
    expect(server.requests).toHaveLength(1);
  });
});
