import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/core/values/message.ts';
import { openai } from '../../src/models/openai/index.ts';
import { assembleResponsesTurn } from '../../src/models/openai/responses-turn.ts';
import { type Answer, forecast, listening, play, request, silent } from './play.ts';

const usage = {
  input_tokens: 30,
  output_tokens: 12,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens_details: { reasoning_tokens: 4 },
};
const call = (id: string, city: string, status = 'completed') => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name: 'get_forecast',
  arguments: `{"city":"${city}"}`,
  status,
});
const said = (text: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: 'ZW5j',
};
const response = (output: object[], rest: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  model: 'm-1',
  status: 'completed',
  output,
  usage,
  ...rest,
});
const completed = (output: object[]) => ({ type: 'response.completed', response: response(output) });
const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } };
const added = (output_index: number | undefined, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: number | undefined, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const grows = (item_id: string, output_index: number | undefined, ...pieces: string[]) =>
  pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', item_id, output_index, delta }));
/** Text in pieces. */
const speaks = (...pieces: string[]) =>
  pieces.map((delta) => ({
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta,
  }));

async function start(...answers: Answer[]) {
  const server = await play(...answers);
  return { server, model: openai('m', { baseURL: `${server.url}/v1`, api: 'responses' }) };
}
const origin = { api: 'responses', endpoint: 'here' } as const;
const assemble = (events: readonly unknown[]) =>
  assembleResponsesTurn(events, { names: new Map(), newId: () => 'made', origin });
const callsOf = (events: readonly unknown[]) => assemble(events).content.filter(({ type }) => type === 'tool_call');

describe('a response', () => {
  test('that is streamed gives the same turn as one that is not', async () => {
    const item = said('Good day.');
    const { model, server } = await start(
      {
        events: [
          created,
          added(0, { ...item, content: [] }),
          ...speaks('Good ', 'day.'),
          done(0, item),
          completed([item]),
        ],
      },
      { body: response([item]) },
    );
    const context = listening();
    const streamed = await model.generate(request(), context);
    expect(streamed).toEqual({
      content: [{ type: 'text', text: 'Good day.' }],
      stop: 'end',
      usage: { inputTokens: 30, outputTokens: 12, cachedInputTokens: 20, reasoningTokens: 4 },
      native: { api: 'responses', endpoint: new URL(server.url).host, model: 'm', turn: [item] },
      response: { id: 'resp_1', model: 'm-1' },
    });
    expect(await model.generate(request(), silent)).toEqual(streamed);
    expect(context.deltas).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'day.' },
    ]);
    expect(server.requests.map(({ path, body }) => [path, body.stream])).toEqual([
      ['/v1/responses', true],
      ['/v1/responses', undefined],
    ]);
  });

  test('holds calls in the order of their places, whatever order they finish in', () => {
    const [a, b] = [call('a', 'Oulu'), call('b', 'Turku')];
    const events = [
      created,
      added(0, { ...a, arguments: '' }),
      added(1, { ...b, arguments: '' }),
      ...grows('fc_b', 1, '{"city":', '"Turku"}'),
      ...grows('fc_a', 0, '{"city":"Oulu"}'),
      done(1, b),
      done(0, a),
      completed([]),
    ];
    expect(callsOf(events)).toEqual([
      { type: 'tool_call', id: 'call_a', name: 'get_forecast', arguments: '{"city":"Oulu"}' },
      { type: 'tool_call', id: 'call_b', name: 'get_forecast', arguments: '{"city":"Turku"}' },
    ]);
  });

  test.each<[string, readonly unknown[]]>([
    [
      'no places',
      [added(undefined, { ...call('a', 'Oulu'), arguments: '' }), ...grows('fc_a', undefined, '{"city":"Oulu"}')],
    ],
    ['ids that change', [added(0, { ...call('a', 'Oulu'), arguments: '' }), ...grows('other', 0, '{"city":"Oulu"}')]],
    ['only the end of an item', [done(0, call('a', 'Oulu'))]],
    ['only the end of the response', []],
    ['an item that never ends', [added(0, call('a', 'Oulu', 'in_progress'))]],
  ])('may be streamed with %s', (_what, events) => {
    expect(callsOf([...events, completed([call('a', 'Oulu')])])).toEqual([
      { type: 'tool_call', id: 'call_a', name: 'get_forecast', arguments: '{"city":"Oulu"}' },
    ]);
  });

  test('gets ids where they are missing or repeated', () => {
    const twice = [call('a', 'Oulu'), { ...call('a', 'Turku'), id: 'fc_2' }];
    const ids = callsOf([done(0, twice[0] ?? {}), done(1, twice[1] ?? {}), completed([])]).map((part) =>
      part.type === 'tool_call' ? part.id : '',
    );
    expect(ids).toEqual(['call_a', 'made']);
  });

  test.each<[string, readonly unknown[], object]>([
    ['ends early', [created, done(0, call('a', 'Oulu'))], { kind: 'network', retryable: true }],
    ['is only marked as done', [done(0, call('a', 'Oulu')), { object: 'coxswain.done' }], { kind: 'network' }],
    [
      'is incomplete with a call in it',
      [
        {
          type: 'response.incomplete',
          response: response([call('a', 'x')], {
            status: 'incomplete',
            incomplete_details: { reason: 'max_output_tokens' },
          }),
        },
      ],
      { kind: 'output_truncated', usage: expect.objectContaining({ inputTokens: 30 }) },
    ],
    [
      'is filtered',
      [
        {
          type: 'response.incomplete',
          response: response([said('Half')], {
            status: 'incomplete',
            incomplete_details: { reason: 'content_filter' },
          }),
        },
      ],
      { kind: 'content_filter', usage: expect.objectContaining({ outputTokens: 12 }) },
    ],
    [
      'fails',
      [
        {
          type: 'response.failed',
          response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow.' } },
        },
      ],
      { kind: 'rate_limit', retryable: true },
    ],
    [
      'holds an error',
      [{ type: 'error', code: 'server_error', message: 'x' }],
      { kind: 'server_error', retryable: true },
    ],
    [
      'refuses',
      [completed([{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }])],
      { kind: 'refusal' },
    ],
    ['holds nothing', [completed([])], { kind: 'empty_response' }],
    ['is something else', [{ choices: [] }], { kind: 'malformed_response' }],
    ['was cancelled', [response([], { status: 'cancelled' })], { kind: 'server_error' }],
  ])('that %s is an error, never half a turn', (_what, events, expected) => {
    expect(() => assemble(events)).toThrow(expect.objectContaining(expected));
  });

  test('that is cut inside its text is a turn that says so', () => {
    const cut = response([said('Half')], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(assemble([{ type: 'response.incomplete', response: cut }])).toMatchObject({ stop: 'length' });
  });

  test('is the same in whatever pieces its arguments come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), { minLength: 1, maxLength: 4 }),
        (calls) => {
          const begun = calls.map((_, index) => added(index, { ...call(String(index), ''), arguments: '' }));
          // One piece of each in turn.
          const longest = Math.max(...calls.map((pieces) => pieces.length));
          const pieces = Array.from({ length: longest }, (_, n) =>
            calls.flatMap((list, index) => grows(`fc_${index}`, index, ...list.slice(n, n + 1))),
          ).flat();
          const got = callsOf([...begun, ...pieces, completed([])]);
          expect(got.map((part) => part.type === 'tool_call' && part.arguments)).toEqual(
            calls.map((list) => list.join('')),
          );
        },
      ),
    );
  });

  test('that falls silent after its headers is a timeout', async () => {
    const server = await play({ events: [created], ends: 'hold' });
    const model = openai('m', { baseURL: server.url, api: 'responses', idleTimeoutMs: 60 });
    await expect(model.generate(request(), listening())).rejects.toMatchObject({ kind: 'timeout', retryable: true });
    await server.closed;
  });
});

describe('a request to the Responses API', () => {
  const turnOf = async () => {
    const items = [thought, call('a', 'Oulu')];
    const { model, server } = await start({ body: response(items) });
    const turn = await model.generate(request({ tools: [forecast] }), silent);
    const native = { provider: 'openai', turn: turn.native ?? null };
    const messages: Message[] = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: turn.content, native },
      { role: 'tool', callId: 'call_a', name: 'get_forecast', content: 'sunny', isError: false },
    ];
    return { items, model, server, messages };
  };

  test('sends its own items back in order, and each result by the id of the call', async () => {
    const { items, model, server, messages } = await turnOf();
    await model.generate(request({ messages }), silent);
    expect(server.requests[1]?.body).toMatchObject({
      store: false,
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: 'Go.' },
        ...items,
        { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
      ],
    });
  });

  test('gives the thoughts of one model to no other', async () => {
    const { server, messages } = await turnOf();
    const other = openai('m-2', { baseURL: `${server.url}/v1`, api: 'responses' });
    await other.generate(request({ messages }), silent);
    expect(server.requests[1]?.body.input).toEqual([
      { role: 'user', content: 'Go.' },
      { type: 'function_call', call_id: 'call_a', name: 'get_forecast', arguments: '{"city":"Oulu"}' },
      { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
    ]);
  });

  test('says strict for every tool, asks OpenAI for encrypted thoughts, and writes neutral settings its own way', async () => {
    const bodies: Record<string, unknown>[] = [];
    const { OpenAI } = await import('openai');
    const client = new OpenAI({
      apiKey: 'sk-test-abcdef123456',
      fetch: async (_url, init) => {
        bodies.push(JSON.parse(String(init?.body)));
        return Response.json(response([said('Hi.')]));
      },
    });
    const closed = { ...forecast, name: 'closed', parameters: { ...forecast.parameters, additionalProperties: false } };
    const output = {
      name: 'answer',
      schema: { type: 'object', properties: {}, additionalProperties: false, required: [] },
    };
    await openai('gpt-5.4-mini', { client }).generate(
      request({
        tools: [forecast, closed],
        output,
        toolChoice: { name: 'closed' },
        settings: { maxOutputTokens: 99, reasoningEffort: 'low', parallelToolCalls: false, text: { verbosity: 'low' } },
      }),
      silent,
    );
    expect(bodies[0]).toMatchObject({
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 99,
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'answer', strict: true } },
      tool_choice: { type: 'function', name: 'closed' },
      tools: [
        { name: 'get_forecast', strict: false },
        { name: 'closed', strict: true },
      ],
    });
    await openai('gpt-4.1-mini', { client }).generate(request(), silent);
    expect(bodies[1]).not.toHaveProperty('include');
  });

  test('carries pictures and files, in results too', async () => {
    const { model, server } = await start({ body: response([said('Hi.')]) });
    const parts = [
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', mediaType: 'image/png', data: { url: 'https://x.test/a.png' } },
      { type: 'file', mediaType: 'application/pdf', data: 'AAAA', name: 'a.pdf' },
      { type: 'file', mediaType: 'application/pdf', data: { url: 'https://x.test/a.pdf' } },
      { type: 'file', mediaType: 'text/csv', data: Buffer.from('a,b').toString('base64') },
    ] as const;
    const wire = [
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'auto' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      { type: 'input_file', file_url: 'https://x.test/a.pdf' },
      { type: 'input_text', text: 'a,b' },
    ];
    await model.generate(
      request({
        messages: [
          { role: 'user', content: parts },
          { role: 'assistant', content: [{ type: 'tool_call', id: 'a:1', name: 'look', arguments: '' }] },
          {
            role: 'tool',
            callId: 'a:1',
            name: 'look',
            content: [{ type: 'text', text: 'seen' }, parts[0]],
            isError: true,
          },
        ],
      }),
      silent,
    );
    const [user, asked, result] = (server.requests[0]?.body.input ?? []) as Record<string, unknown>[];
    expect(user).toEqual({ role: 'user', content: wire });
    expect(asked).toMatchObject({ type: 'function_call', name: 'look', arguments: '{}' });
    expect(result).toMatchObject({
      call_id: asked?.call_id,
      output: [{ type: 'input_text', text: 'Error: seen' }, wire[0]],
    });
    const zip = { type: 'file', mediaType: 'image/tiff', data: 'AAAA' } as const;
    const refused = model.generate(request({ messages: [{ role: 'user', content: [zip] }] }), silent);
    await expect(refused).rejects.toMatchObject({ kind: 'invalid_request' });
  });
});

describe('openai() speaks', () => {
  const asked = async (options: object) => {
    const paths: string[] = [];
    const { OpenAI } = await import('openai');
    const client = new OpenAI({
      apiKey: 'sk-test-abcdef123456',
      ...options,
      fetch: async (url) => {
        paths.push(new URL(String(url)).pathname);
        return Response.json({ error: { message: 'x' } }, { status: 400 });
      },
    });
    await openai('m', { client })
      .generate(request(), silent)
      .catch(() => {});
    return paths[0];
  };
  test('Responses at OpenAI, Chat Completions everywhere else', async () => {
    expect(await asked({})).toBe('/v1/responses');
    expect(await asked({ baseURL: 'http://localhost:1/v1' })).toBe('/v1/chat/completions');
  });
});
