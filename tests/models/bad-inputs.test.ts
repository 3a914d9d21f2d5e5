import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../src/core/values/model.ts';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { type Answer, forecast, listening, play, request, silent } from './play.ts';

const KEY = 'sk-test-abcdef123456';
const PROTOCOLS = ['chat', 'responses', 'messages'] as const;
type Protocol = (typeof PROTOCOLS)[number];
const modelAt = (url: string, protocol: Protocol, options: object = {}): Model =>
  protocol === 'messages'
    ? anthropic('m', { baseURL: url, apiKey: KEY, ...options })
    : openai('m', { baseURL: url, apiKey: KEY, api: protocol, ...options });

const each = PROTOCOLS.flatMap((protocol) => [true, false].map((stream) => [protocol, stream] as const));
const CHAT: Answer = { body: { choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }] } };
const MESSAGE: Answer = {
  body: { type: 'message', content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn' },
};
const RESPONSE: Answer = {
  body: { status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi.' }] }] },
};

describe.each(each)('by %s, streamed: %s,', (protocol, stream) => {
  const fails = async (answer: Answer) => {
    const server = await play(answer);
    const call = modelAt(server.url, protocol, { stream }).generate(request({ tools: [forecast] }), silent);
    return call.then(
      () => 'a turn',
      (thrown) => ({ kind: thrown.kind, retryable: thrown.retryable, message: thrown.message }),
    );
  };

  test('a wrong key is auth, and stands in no message', async () => {
    const failure = await fails({
      status: 401,
      body: { error: { message: `Incorrect API key provided: ${KEY}`, code: 'invalid_api_key' } },
    });
    expect(failure).toMatchObject({ kind: 'auth', retryable: false });
    expect(JSON.stringify(failure)).not.toContain(KEY);
  });

  test('a page instead of an API is malformed_response, and says so', async () => {
    const failure = await fails({ body: '<!doctype html><html><title>Log in</title></html>' });
    expect(failure).toMatchObject({ kind: 'malformed_response', retryable: false });
    expect(failure).toMatchObject({ message: expect.stringContaining('Log in') });
  });

  test('a redirect to another host is not followed', async () => {
    const other = await play(CHAT);
    const failure = await fails({ status: 307, headers: { location: `${other.url}/v1` }, body: null });
    expect(failure).toMatchObject({ kind: 'not_found', retryable: false, message: expect.stringContaining(other.url) });
    expect(other.requests).toHaveLength(0);
  });

  test('a redirect to itself, or nowhere, ends', async () => {
    for (const headers of [{ location: '/again' }, {}]) {
      const failure = await fails({ status: 308, headers, body: null });
      expect(failure).toMatchObject({ kind: 'not_found', retryable: false });
    }
  });

  test('a server that does not speak HTTP is malformed_response, and says so', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.0\r\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const call = modelAt(url, protocol, { stream }).generate(request(), silent);
    const message = expect.stringContaining('does not speak HTTP');
    await expect(call).rejects.toMatchObject({ kind: 'malformed_response', retryable: false, message });
  });

  test('an error body without end is read so far, and its status counts', async () => {
    const beat = 'x'.repeat(40_000);
    const failure = await fails({ status: 503, raw: beat, beat, ends: 'hold' });
    expect(failure).toMatchObject({ kind: 'overloaded', retryable: true });
  });

  test('a status that can have no body is an error like another', async () => {
    expect(await fails({ status: 304, body: '' })).toMatchObject({ kind: 'unknown', retryable: false });
  });

  test('another protocol is malformed_response', async () => {
    const others = { chat: MESSAGE, responses: CHAT, messages: CHAT };
    expect(await fails(others[protocol])).toMatchObject({ retryable: false, kind: 'malformed_response' });
  });

  test('a model without tools is invalid_request with the words of the server', async () => {
    const failure = await fails({ status: 400, body: { error: { message: 'm does not support tools' } } });
    expect(failure).toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining('does not support tools'),
    });
  });
});

test.each(PROTOCOLS)('%s: a redirect within the host that keeps the method is followed', async (protocol) => {
  const answers = { chat: CHAT, responses: RESPONSE, messages: MESSAGE };
  const server = await play({ status: 308, headers: { location: '/elsewhere' }, body: null }, answers[protocol]);
  const turn = await modelAt(server.url, protocol).generate(request(), silent);
  expect(turn.content).toEqual([{ type: 'text', text: 'Hi.' }]);
  expect(server.requests[1]).toMatchObject({ path: '/elsewhere', body: server.requests[0]?.body });
});

/** Sends pieces as fast as they are taken. */
async function flood(pieces: Iterable<string>, end: string): Promise<string> {
  const server = createServer(async (incoming, response) => {
    for await (const _ of incoming);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let block = '';
    for (const piece of pieces) {
      block += piece;
      if (block.length < 65_536) continue;
      if (!response.write(block)) await new Promise((resolve) => response.once('drain', resolve));
      block = '';
    }
    response.end(block + end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const item = { type: 'function_call', id: 'f', call_id: 'c', name: 'get_forecast', arguments: '' };
const OPEN = {
  chat: event({
    choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'get_forecast', arguments: '' } }] } }],
  }),
  responses: event({ type: 'response.output_item.added', output_index: 0, item }),
  messages: event({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'c', name: 'get_forecast', input: {} },
  }),
};
const PIECE = {
  chat: (text: string) =>
    event({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] }),
  responses: (delta: string) => event({ type: 'response.function_call_arguments.delta', item_id: 'f', delta }),
  messages: (partial_json: string) =>
    event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } }),
};
const END = {
  chat: event({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }),
  responses: event({ type: 'response.completed', response: { status: 'completed', output: [] } }),
  messages: event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }) + event({ type: 'message_stop' }),
};

describe.each(PROTOCOLS)('%s: a call arrives whole', (protocol) => {
  test.each([
    ['of 5 MB', 80, 65_536],
    ['in 100,000 pieces', 100_000, 12],
  ])('%s', async (_what, count, size) => {
    const piece = PIECE[protocol]('x'.repeat(size));
    function* pieces() {
      yield OPEN[protocol] + PIECE[protocol]('{"city":"');
      for (let n = 0; n < count; n++) yield piece;
      yield PIECE[protocol]('"}');
    }
    const url = await flood(pieces(), END[protocol]);
    const context = listening();
    const { content } = await modelAt(url, protocol).generate(request({ tools: [forecast] }), context);
    const [call] = content;
    expect(call?.type === 'tool_call' && call.arguments.length).toBe(count * size + 11);
    expect(context.deltas.length).toBeGreaterThan(count);
  });

  test('through a proxy that holds it back to its end', async () => {
    const url = await flood([OPEN[protocol], PIECE[protocol]('{"city":"Oulu"}')], END[protocol]);
    const turn = await modelAt(url, protocol, { stream: true }).generate(request({ tools: [forecast] }), silent);
    expect(turn.content).toEqual([{ type: 'tool_call', id: 'c', name: 'get_forecast', arguments: '{"city":"Oulu"}' }]);
  });

  test('or not at all, when it is aborted under way', async () => {
    const server = await play({ raw: OPEN[protocol] + PIECE[protocol]('{'), ends: 'hold' });
    const controller = new AbortController();
    const onDelta = () => controller.abort(new Error('enough'));
    const call = modelAt(server.url, protocol).generate(request({ tools: [forecast] }), {
      signal: controller.signal,
      onDelta,
    });
    await expect(call).rejects.toThrow('enough');
    await server.closed;
  });
});

test.each([
  ['OPENAI_API_KEY', () => openai('m')],
  ['ANTHROPIC_API_KEY', () => anthropic('m')],
])('without a key (%s) the call is auth, and says what to do', async (variable, make) => {
  const before = process.env[variable];
  delete process.env[variable];
  onTestFinished(() => {
    if (before !== undefined) process.env[variable] = before;
  });
  const failure = { kind: 'auth', retryable: false, message: expect.stringContaining('Give apiKey') };
  await expect(make().generate(request(), silent)).rejects.toMatchObject(failure);
});

test.each(PROTOCOLS)(
  'a timeout that is longer than a timer can be is none that fires at once: %s',
  async (protocol) => {
    const server = await play({ chat: CHAT, responses: RESPONSE, messages: MESSAGE }[protocol]);
    const model = modelAt(server.url, protocol, { timeoutMs: 9_000_000_000, idleTimeoutMs: 9_000_000_000 });
    for (const context of [silent, listening()]) {
      expect((await model.generate(request(), context)).content).toEqual([{ type: 'text', text: 'Hi.' }]);
    }
  },
);

test('a finish that is said again and again moves nothing on: the turn is complete', async () => {
  const finish = { choices: [{ delta: {}, finish_reason: 'stop' }] };
  const events = [{ choices: [{ delta: { content: 'Hi.' } }] }, finish];
  const server = await play({ events, beat: `data: ${JSON.stringify(finish)}\n\n`, ends: 'hold' });
  const model = openai('m', { baseURL: server.url, idleTimeoutMs: 200 });
  expect((await model.generate(request(), listening())).content).toEqual([{ type: 'text', text: 'Hi.' }]);
  await server.closed;
});
