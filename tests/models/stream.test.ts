import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelTurn } from '../../src/core/values/model.ts';
import { DONE } from '../../src/models/answer/answer-parser.ts';
import { readAnswer } from '../../src/models/answer/exchange.ts';
import { assembleAnthropicTurn } from '../../src/models/anthropic/turn.ts';
import { ChatCalls } from '../../src/models/openai/chat-calls.ts';
import { assembleChatTurn } from '../../src/models/openai/chat-turn.ts';

const NO_NAMES = new Map<string, string>();
const newId = () => 'made';
const from = { names: NO_NAMES, newId, origin: { api: 'chat', endpoint: 'here' }, inPieces: true } as const;
const chat = (events: readonly unknown[]) => assembleChatTurn(events, { ...from, stream: true });
const messages = (events: readonly unknown[]) => assembleAnthropicTurn(events, from);

/** Cuts bytes at the given places, and reads them as an answer: its events, and what came whole. */
async function read(text: string | Uint8Array, cuts: readonly number[] = [], headers = {}, stream = true) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const pieces = [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
  const events: unknown[] = [];
  const wholes: unknown[] = [];
  const response = new Response(ReadableStream.from(pieces), { headers });
  await readAnswer(response, 'somebody', stream, {
    event: (event) => events.push(event) < 0,
    whole: (answer) => wholes.push(answer),
  });
  return { events, wholes };
}

const CHAT = [
  ': busy\r\n\r\ndata:{"id":"c","choices":[{"index":0,"delta":{"content":"Ça va 🙂 "}}]}\r\n\r\n',
  'event: message\n\ndata: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{\\"t\\":"}}]}}]}\n\n',
  'data: {"choices":[{"delta":{"content":"寿司",\r\ndata: "tool_calls":[{"index":0,"function":{"arguments":"\\"🍣\\"}"}}]}}]}\n\n',
  'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\r\rdata: [DONE]',
].join('');
const MESSAGE = [
  'data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
  'data: {"index":4,"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"n","input":{}}}\r\n\r\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\\"t\\":\\"🍣\\"}"}}\n\n',
  'data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}\n\ndata: {"type":"message_stop"}\n\n',
].join('');

describe('any cut of the bytes gives the same turn', () => {
  test.each<[string, string, (events: readonly unknown[]) => ModelTurn, string]>([
    ['chat', CHAT, chat, '{"t":"🍣"}'],
    ['anthropic', MESSAGE, messages, '{"t":"🍣"}'],
  ])('%s', async (_, text, assemble, args) => {
    const bytes = new TextEncoder().encode(text);
    const whole = assemble((await read(bytes)).events);
    expect(whole.content.at(-1)).toEqual({ type: 'tool_call', id: 'a', name: 'n', arguments: args });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 30 }), async (cuts) => {
        expect(assemble((await read(bytes, cuts)).events)).toEqual(whole);
      }),
      { numRuns: 200 },
    );
  });

  test('and an end anywhere before the terminal signal gives none', async () => {
    const bytes = new TextEncoder().encode(CHAT);
    const finish =
      bytes.length - new TextEncoder().encode(CHAT.slice(CHAT.indexOf('data: {"choices":[{"delta":{},"'))).length;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: finish }), async (length) => {
        const { events } = await read(bytes.subarray(0, length));
        expect(() => chat(events)).toThrow(expect.objectContaining({ kind: 'network', retryable: true }));
      }),
      { numRuns: 100 },
    );
  });
});

describe('an event stream', () => {
  test('gives its events by the names that stand before them, where they have none themselves', async () => {
    const { events } = await read(
      'event: message_stop\ndata: {}\n\nevent: ping\ndata: {"type":"x"}\n\nevent: chunk\ndata: {"a":1}\n\n',
    );
    expect(events).toEqual([{ type: 'message_stop' }, { type: 'x' }, { a: 1 }]);
  });
  test('tells what is named an error as one, whatever it holds', async () => {
    const { events } = await read('event: error\ndata: too busy\n\nevent: error\ndata: {"code":"x"}\n\n');
    expect(events).toEqual([
      { type: 'error', error: { message: 'too busy' } },
      { type: 'error', code: 'x' },
    ]);
  });
  test('loses events without data, or with nothing in it, and a last event that is not whole', async () => {
    expect((await read('data: {}\n\nevent: beat\ndata: null\n\ndata: {"a":1}\n\n')).events).toEqual([{ a: 1 }]);
    expect((await read('event: message\n\ndata:\n\n: comment\n\ndata: {"a":')).events).toEqual([]);
    expect((await read('data: {"a":1}')).events).toEqual([{ a: 1 }]);
  });
  test('shows its end', async () => {
    expect((await read('data:[DONE] \n\n')).events).toEqual([{ object: DONE }]);
  });
  test('may hold data in lines of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('\n', '\r', '\r\n'), { minLength: 6, maxLength: 6 }), async (ends) => {
        const [a, b, c, d, e, f] = ends;
        const text = `: x${a}${b}data: {"a":${c}data: 1}${d}id: 7${e}${f}`;
        expect((await read(text, [1, 4, 5, 20, 21, 30])).events).toEqual([{ a: 1 }]);
      }),
    );
  });
  // Where each piece looks through all before it, this takes minutes.
  test('of millions of characters in one line, in small pieces, is read in linear time', async () => {
    const text = 'x'.repeat(4_000_000);
    const cuts = Array.from({ length: 40_000 }, (_, index) => index * 100);
    expect((await read(`data: ${JSON.stringify({ text })}\n\n`, cuts)).events).toEqual([{ text }]);
  });
});

describe('an answer is read by what it holds', () => {
  test('JSON where a stream was asked for, whatever it is called', async () => {
    for (const type of ['application/json', 'text/event-stream', 'text/plain']) {
      expect(await read(' \n{"a":1}', [3], { 'content-type': type })).toEqual({ events: [], wholes: [{ a: 1 }] });
    }
  });
  test('a stream where none was asked for', async () => {
    const headers = { 'content-type': 'application/json' };
    expect((await read('data: {"a":1}\n\n', [], headers, false)).events).toEqual([{ a: 1 }]);
  });
  test('nothing at all, as what was asked for', async () => {
    expect(await read('\n \n', [1])).toEqual({ events: [], wholes: [] });
    expect(await read('', [], {}, false)).toEqual({ events: [], wholes: [undefined] });
    expect(await read('upstream connect error', [], {}, false)).toEqual({ events: [], wholes: [undefined] });
  });
  test('a page, which is no answer', async () => {
    const page = { kind: 'malformed_response', message: expect.stringContaining('an HTML page ("Sign in")') };
    await expect(read('<!doctype html><title>Sign in</title>', [2, 9])).rejects.toMatchObject(page);
    await expect(read('Sign in', [], { 'content-type': 'text/html' })).rejects.toMatchObject({
      kind: 'malformed_response',
    });
  });
  test('events whose blank lines are left out, and JSON in lines', async () => {
    const lines = { events: [{ a: 1 }, { a: 2 }, { object: DONE }], wholes: [] };
    expect(await read('data: {"a":1}\ndata: {"a":2}\ndata: [DONE]\n\n', [20])).toEqual(lines);
    expect(await read('data: {"a":1}\ndata: {"a":2}\ndata: [DONE]', [20])).toEqual(lines);
    expect((await read('data: {"a":1}\ndata: {"a":')).events).toEqual([]);
    expect(await read('{"a":1}\n{"a":2}\r\n[DONE]\n', [3])).toEqual(lines);
    await expect(read('{"a":1}\n{"a":')).rejects.toThrow(SyntaxError);
  });
  test('JSON that is cut, which is none', async () => {
    await expect(read('{"a":', [2])).rejects.toThrow(SyntaxError);
  });
  test('arguments as an object keep integers as they were written, in words', async () => {
    const text = '{"input":{"n":12345678901234567890,"m":[1,-9007199254740993]},"created":12345678901234567890}';
    const { wholes } = await read(text);
    expect(wholes).toEqual([
      { input: '{"n":12345678901234567890,"m":[1,-9007199254740993]}', created: Number('12345678901234567890') },
    ]);
    expect((await read('{"input":{"n":1},"id":1234567890123456}')).wholes).toEqual([
      { input: { n: 1 }, id: 1_234_567_890_123_456 },
    ]);
  });
});

describe('a chat turn', () => {
  const text = { choices: [{ delta: { content: 'x' } }] };
  test('may end with [DONE] alone', () => {
    expect(chat([text, { object: DONE }]).stop).toBe('end');
    expect(() => chat([{ object: DONE }])).toThrow(expect.objectContaining({ kind: 'empty_response' }));
  });
  test('is not completed by a "stop" after a cut', () => {
    const reason = (finish_reason: string) => ({ choices: [{ delta: {}, finish_reason }] });
    expect(chat([text, reason('length'), reason('stop')]).stop).toBe('length');
  });
  test('keeps thoughts out of the text, in whatever field they come', () => {
    const turn = chat([
      { choices: [{ delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] } }] },
      { choices: [{ delta: { content: [{ type: 'text', text: 'Hi' }] } }] },
      { choices: [{ delta: { reasoning_details: [{ a: 1 }] } }] },
      { choices: [{ delta: { reasoning_details: [{ a: 2 }], content: '.' }, finish_reason: 'stop' }] },
    ]);
    expect(turn.content).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Hi.' },
    ]);
    expect(turn.native).toMatchObject({ turn: { reasoning_details: [{ a: 1 }, { a: 2 }] } });
  });
  test('takes the last usage and makes none up', () => {
    const used = (prompt_tokens: unknown, completion_tokens: unknown) => ({
      choices: [],
      usage: { prompt_tokens, completion_tokens },
    });
    const done = { choices: [{ delta: {}, finish_reason: 'stop' }] };
    expect(chat([text, used(5, 1), done, used(5, 7)]).usage).toEqual({ inputTokens: 5, outputTokens: 7 });
    expect(chat([text, used(null, -1), done])).not.toHaveProperty('usage');
  });
});

describe('fragments of calls', () => {
  const assemble = (...fragments: object[]) => {
    const calls = new ChatCalls();
    for (const fragment of fragments) calls.take(fragment);
    return calls.calls.map(({ id, name, arguments: args }) => [id, name, args]);
  };
  const f = (index: number | undefined, id: string | undefined, name: string | undefined, args: unknown) => ({
    index,
    id,
    function: { name, arguments: args },
  });
  const A = '{"a":1}';
  const B = '{"b":2}';
  test.each<[string, object[], unknown[]]>([
    [
      'one index for calls with their own ids',
      [f(0, 'x', 'n', A), f(0, 'y', 'n', B)],
      [
        ['x', 'n', A],
        ['y', 'n', B],
      ],
    ],
    [
      'one index, no ids, whole arguments',
      [f(0, '', 'n', A), f(0, '', 'm', B)],
      [
        [undefined, 'n', A],
        [undefined, 'm', B],
      ],
    ],
    [
      'no index, own ids',
      [f(undefined, 'x', 'n', ''), f(undefined, 'y', 'n', B), f(undefined, 'x', undefined, A)],
      [
        ['x', 'n', A],
        ['y', 'n', B],
      ],
    ],
    [
      'no index, no ids',
      [
        f(undefined, undefined, 'n', '{"a":'),
        f(undefined, undefined, undefined, '1}'),
        f(undefined, undefined, 'm', B),
      ],
      [
        [undefined, 'n', A],
        [undefined, 'm', B],
      ],
    ],
    [
      'one id for two calls',
      [f(undefined, 'x', 'n', A), f(undefined, 'x', 'm', B)],
      [
        ['x', 'n', A],
        ['x', 'm', B],
      ],
    ],
    ['an id that changes', [f(0, 'x', 'n', ''), f(0, 'y', undefined, A)], [['x', 'n', A]]],
    ['an id that comes late', [f(0, undefined, 'n', '{"a":'), f(0, 'x', undefined, '1}')], [['x', 'n', A]]],
    ['a name in every fragment', [f(0, 'x', 'n', '{"a":'), f(0, 'x', 'n', '1}')], [['x', 'n', A]]],
    [
      'a name in pieces',
      [f(0, 'x', 'get_', ''), f(0, undefined, 'it', ''), f(0, undefined, undefined, A)],
      [['x', 'get_it', A]],
    ],
    ['arguments that are flushed twice', [f(0, 'x', 'n', A), f(0, undefined, undefined, A)], [['x', 'n', A]]],
    [
      'arguments as an object, or null',
      [f(0, 'x', 'n', { a: 1 }), f(1, 'y', 'n', null)],
      [
        ['x', 'n', A],
        ['y', 'n', ''],
      ],
    ],
  ])('hold %s', (_, fragments, expected) => {
    expect(assemble(...fragments)).toEqual(expected);
  });
});
