/** Calls, endings and counts as servers and gateways have sent them, by protocol: each is a whole turn or an error of a known kind. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelDelta } from '../../src/core/values/model.ts';
import { AnswerParser } from '../../src/models/answer/answer-parser.ts';
import { assemblerOf, type Protocol, short, turnOf, wholeOf } from './assembler-of.ts';

const DONE = { object: 'coxswain.done' };

describe('by Chat Completions', () => {
  const delta = (fields: object, finish_reason: unknown = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason }],
  });
  const calls = (...tool_calls: object[]) => delta({ tool_calls });
  const f = (name: unknown, args: unknown) => ({ function: { name, arguments: args } });
  const end = delta({}, 'tool_calls');
  const call = calls({ index: 0, id: 'x', ...f('get', '{"a":1}') });
  const A = 'get {"a":1}';

  test.each<[string, object[], string]>([
    [
      'indexes that are texts, interleaved',
      [
        calls({ index: '0', id: 'x', ...f('get', '') }, { index: '1', id: 'y', ...f('put', '') }),
        calls({ index: '0', ...f(null, '{"a":1}') }),
        calls({ index: '1', ...f(null, '{"b":2}') }),
        end,
      ],
      `${A} | put {"b":2}`,
    ],
    [
      'a name after the arguments',
      [calls({ index: 0, ...f(undefined, '{"a"') }), calls({ index: 0, ...f('get', ':1}') }), end],
      A,
    ],
    [
      'a name after all arguments',
      [calls({ index: 0, ...f(undefined, '{"a":1}') }), calls({ index: 0, ...f('get', null) }), end],
      A,
    ],
    ['one call without its list', [delta({ tool_calls: { index: 0, ...f('get', '{"a":1}') } }), end], A],
    [
      'an empty object before the arguments',
      [calls({ index: 0, ...f('get', '{}') }), calls({ index: 0, ...f(null, '{"a":1}') }), end],
      A,
    ],
    ['an empty object alone', [calls({ index: 0, ...f('get', '{}') }), end], 'get {}'],
    [
      'the same name in every piece of nested arguments',
      [...'{"a":[{"b":{}},{"c":1}]}'].map((piece) => calls({ index: 0, id: 'x', ...f('get', piece) })).concat([end]),
      'get {"a":[{"b":{}},{"c":1}]}',
    ],
  ])('calls have %s', (_, events, expected) => {
    expect(turnOf('chat', events)).toBe(expected);
  });

  test.each<[unknown, string]>([
    ['stop', A],
    ['a new reason', A],
    ['abort', 'server_error!'],
    ['cancelled', 'server_error!'],
    ['TIMEOUT', 'server_error!'],
    ['UNEXPECTED_TOOL_CALL', 'malformed_response!'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['MAX_TOKENS', 'output_truncated'],
  ])('a call that ends with %s is as whole as that', (reason, expected) => {
    expect(turnOf('chat', [call, delta({}, reason)])).toBe(expected);
  });

  test.each<[string, object[]]>([
    ['an object', [delta({ content: { type: 'text', text: 'Hi.' } }, 'stop')]],
    ['a choice without its list', [{ choices: { index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop' } }]],
    ['a choice counted from one', [{ choices: [{ index: 1, delta: { content: 'Hi.' }, finish_reason: 'stop' }] }]],
    [
      'of the first choice alone',
      [
        {
          choices: [
            { index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop' },
            { index: 1, delta: { content: 'Ho.' } },
          ],
        },
      ],
    ],
    ['text without a message', [{ choices: [{ index: 0, text: 'Hi.', finish_reason: 'stop' }] }]],
    ['after choices that are null', [{ choices: null }, { choices: [null] }, delta({ content: 'Hi.' }, 'stop')]],
  ])('text comes as %s', (_, events) => {
    expect(turnOf('chat', events)).toBe('Hi.');
  });

  test('parts of thoughts that are streamed in pieces go back whole, each with its signature', () => {
    const piece = (index: number, fields: object) =>
      delta({ reasoning_details: [{ type: 'reasoning.text', index, format: 'f', ...fields }] });
    const events = [
      piece(0, { text: 'H' }),
      piece(0, { text: 'm.', signature: null }),
      piece(0, { text: '', signature: 'one' }),
      piece(0, { text: 'So', signature: 'two' }),
      piece(1, { text: 'On' }),
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', index: 2, data: 'A' }] }),
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', index: 2, data: 'B' }] }),
      call,
      end,
    ];
    const assembler = assemblerOf('chat', true);
    for (const event of events) assembler.take(event);
    const { turn } = assembler.turn().native as { turn: { reasoning_details: object[] } };
    const text = (index: number, fields: object) => ({ type: 'reasoning.text', index, format: 'f', ...fields });
    expect(turn.reasoning_details).toEqual([
      text(0, { text: 'Hm.', signature: 'one' }),
      text(0, { text: 'So', signature: 'two' }),
      text(1, { text: 'On' }),
      { type: 'reasoning.encrypted', index: 2, data: 'A' },
      { type: 'reasoning.encrypted', index: 2, data: 'B' },
    ]);
  });

  test('thoughts that come as parts of the content go back as they came, each as one', () => {
    const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
    const events = [
      delta({ content: [thinking('H')] }),
      delta({ content: [thinking('m.'), { type: 'text', text: 'Let ' }] }),
      delta({ content: 'me.' }),
      delta({ content: [{ ...thinking('So'), signature: 's' }] }),
      call,
      end,
    ];
    const assembler = assemblerOf('chat', true);
    for (const event of events) assembler.take(event);
    const { content, native } = assembler.turn();
    expect(content.slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm.So' },
      { type: 'text', text: 'Let me.' },
    ]);
    expect(native).toMatchObject({
      turn: {
        content: [thinking('Hm.'), { type: 'text', text: 'Let me.' }, { ...thinking('So'), signature: 's' }],
        tool_calls: [{ id: 'x' }],
      },
    });
    const plain = assemblerOf('chat', true);
    for (const event of [delta({ content: [{ type: 'text', text: 'H' }] }), delta({ content: 'i.' }, 'stop')])
      plain.take(event);
    expect(plain.turn().native).toMatchObject({ turn: { content: 'Hi.' } });
    const early = assemblerOf('chat', true);
    for (const event of [delta({ content: 'A' }), delta({ content: [thinking('b')] }, 'stop')]) early.take(event);
    expect(early.turn().native).toMatchObject({ turn: { content: [{ type: 'text', text: 'A' }, thinking('b')] } });
  });

  test.each<[string, object[], object]>([
    ['by the names of another API', [{ input_tokens: 3, output_tokens: 2 }], { inputTokens: 3, outputTokens: 2 }],
    ['as a part and a total', [{ prompt_tokens: 3, total_tokens: 5 }], { inputTokens: 3, outputTokens: 2 }],
    [
      'and then as nought',
      [
        { prompt_tokens: 3, completion_tokens: 2 },
        { prompt_tokens: 0, completion_tokens: 0 },
      ],
      { inputTokens: 3, outputTokens: 2 },
    ],
    [
      'with cached tokens beside',
      [{ prompt_tokens: 10, completion_tokens: 2, cache_read_input_tokens: 90 }],
      { inputTokens: 100, outputTokens: 2, cachedInputTokens: 90 },
    ],
    [
      'with cached tokens inside',
      [{ prompt_tokens: 100, completion_tokens: 2, prompt_cache_hit_tokens: 90 }],
      { inputTokens: 100, outputTokens: 2, cachedInputTokens: 90 },
    ],
  ])('usage is reported %s', (_, reported, expected) => {
    const assembler = assemblerOf('chat', true);
    for (const usage of reported) assembler.take({ choices: [], usage });
    expect(assembler.usage).toEqual(expected);
  });
});

describe('by the Responses API', () => {
  const A = { type: 'function_call', id: 'f1', call_id: 'c1', name: 'get', arguments: '{"a":1}', status: 'completed' };
  const add = (item: object, output_index = 0) => ({ type: 'response.output_item.added', output_index, item });
  const args = (delta: unknown, item_id?: string) => ({
    type: 'response.function_call_arguments.delta',
    output_index: 0,
    item_id,
    delta,
  });
  const done = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item });
  const completed = (response: object = {}) => ({
    type: 'response.completed',
    response: { status: 'completed', ...response },
  });
  const get = 'get {"a":1}';

  test.each<[string, object[], string]>([
    [
      'whose arguments are streamed as an object',
      [add({ ...A, arguments: '' }), args({ a: 1 }, 'f1'), completed()],
      get,
    ],
    [
      'that is finished with an empty object',
      [add({ ...A, arguments: '' }), args('{"a":1}', 'f1'), done({ ...A, arguments: '{}' }), completed()],
      get,
    ],
    [
      'that is announced with an empty object',
      [add({ ...A, arguments: '{}' }), args('{"a":1}', 'f1'), completed()],
      get,
    ],
    [
      'that is announced twice',
      [add({ ...A, arguments: '' }), add({ ...A, arguments: '' }), args('{"a":1}', 'f1'), completed()],
      get,
    ],
    [
      'that is announced twice without its id',
      [
        add({ ...A, id: undefined, arguments: '' }),
        add({ ...A, id: undefined, arguments: '' }),
        args('{"a":1}'),
        completed(),
      ],
      get,
    ],
    ['that says itself that it was cut', [done({ ...A, status: 'incomplete' }), completed()], 'output_truncated'],
    [
      'of a response that says of itself that it was cut',
      [done(A), completed({ status: 'incomplete' })],
      'output_truncated',
    ],
    ['that ends with response.done', [done(A), { type: 'response.done', response: { status: 'completed' } }], get],
    [
      'that was cancelled',
      [done(A), { type: 'response.cancelled', response: { status: 'cancelled' } }],
      'server_error!',
    ],
    [
      'that ended in an error',
      [done(A), { type: 'response.error', error: { code: 'rate_limit_exceeded' } }],
      'rate_limit!',
    ],
  ])('a call %s', (_, events, expected) => {
    expect(turnOf('responses', events)).toBe(expected);
  });

  const B = { ...A, call_id: 'c2', name: 'put', arguments: '{"b":2}' };
  const both = `${get} | put {"b":2}`;

  test.each<[string, object[]]>([
    ['announced, grown and done one after another', [add(A), done(A), add(B, 1), { ...done(B), output_index: 1 }]],
    [
      'grown side by side',
      [
        add({ ...A, arguments: '' }),
        add({ ...B, arguments: '' }, 1),
        { ...args('{"b":2}', 'f1'), output_index: 1 },
        args('{"a":1}', 'f1'),
      ],
    ],
    ['done only', [done(A), { ...done(B), output_index: 1 }]],
    ['done in one place', [done(A), done(B)]],
    ['at the end only', []],
  ])('calls that bear one id are two, %s', (_, events) => {
    expect(turnOf('responses', [...events, completed({ output: [A, B] })])).toBe(both);
    if (events.length > 0) expect(turnOf('responses', [...events, completed()])).toBe(both);
  });

  test('a call whose ids and place change while it grows is one', () => {
    const events = [
      add({ ...A, arguments: '' }),
      args('{"a":1}', 'f1'),
      { ...done({ ...A, call_id: 'c9' }), output_index: 0 },
    ];
    expect(turnOf('responses', [...events, completed()])).toBe(get);
    const moved = [add({ ...A, arguments: '' }), { ...done(A), output_index: 4 }, done(A)];
    expect(turnOf('responses', [...moved, completed({ output: [A] })])).toBe(get);
  });

  test('deltas of tools of the provider’s own are no text', () => {
    const heard: ModelDelta[] = [];
    const text = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'Hi.' }] };
    const events = [
      { type: 'response.mcp_call_arguments.delta', item_id: 'x', output_index: 1, delta: '{' },
      { type: 'response.audio.transcript.delta', delta: 'la' },
      done(text),
      completed(),
    ];
    expect(turnOf('responses', events, (delta) => heard.push(delta))).toBe('Hi.');
    expect(heard).toEqual([]);
  });

  test('a whole response may hold its text in output_text alone, or be an error', () => {
    expect(wholeOf('responses', { status: 'completed', output_text: 'Hi.' })).toBe('Hi.');
    expect(wholeOf('responses', { message: 'Too many requests', status: 429 })).toBe('rate_limit!');
  });

  test('usage may have the names of the other API, or stand beside the response', () => {
    const chat = assemblerOf('responses', true);
    chat.take(completed({ usage: { prompt_tokens: 3, completion_tokens: 2 } }));
    const beside = assemblerOf('responses', true);
    beside.take({ ...completed(), usage: { input_tokens: 3, output_tokens: 2 } });
    for (const { usage } of [chat, beside]) expect(usage).toEqual({ inputTokens: 3, outputTokens: 2 });
  });
});

describe('by the Messages API', () => {
  const start = {
    type: 'message_start',
    message: { usage: { input_tokens: 50, cache_read_input_tokens: 7, output_tokens: 1 } },
  };
  const open = (content_block: object, index = 0) => ({ type: 'content_block_start', index, content_block });
  const tool = (id: string) => open({ type: 'tool_use', id, name: 'get', input: {} });
  const json = (partial_json: unknown, index = 0) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json },
  });
  const stop = (stop_reason: unknown = 'tool_use', usage?: object) => ({
    type: 'message_delta',
    delta: { stop_reason },
    usage,
  });
  const last = { type: 'message_stop' };
  const A = 'get {"a":1}';

  test.each<[string, object[], string]>([
    ['whose beginning is lost', [start, json('{"a":1}'), stop(), last], 'malformed_response!'],
    [
      'whose beginning is lost, beside a text',
      [start, open({ type: 'text', text: 'Hm' }), json('{"a":1}', 1), stop(), last],
      'malformed_response!',
    ],
    ['whose places are texts in some events', [start, { ...tool('t'), index: '0' }, json('{"a":1}'), stop(), last], A],
    ['that begins twice', [start, tool('t'), tool('t'), json('{"a":1}'), stop(), last], A],
    ['whose input is streamed as an object', [start, tool('t'), json({ a: 1 }), stop(), last], A],
    ['that ends with [DONE]', [start, tool('t'), json('{"a":1}'), stop(), DONE], A],
    ['that ends with nothing but [DONE]', [start, tool('t'), json('{"a":1}'), DONE], 'network!'],
    [
      'cut by its length, in the words of a gateway',
      [start, tool('t'), json('{"a":1}'), stop('length'), last],
      'output_truncated',
    ],
    [
      'filtered, in the words of a gateway',
      [start, tool('t'), json('{"a":1}'), stop('content_filter'), last],
      'content_filter',
    ],
    [
      'that failed, in the words of a gateway',
      [start, tool('t'), json('{"a":1}'), stop('error'), last],
      'server_error!',
    ],
    ['with an ending that is new', [start, tool('t'), json('{"a":1}'), stop('brand_new'), last], A],
  ])('a call %s', (_, events, expected) => {
    expect(turnOf('messages', events)).toBe(expected);
  });

  test('calls of one index that are not the same stay in their order', () => {
    const events = [start, tool('t'), open({ type: 'text', text: 'Hm' }, 1), tool('u'), stop(), last];
    expect(turnOf('messages', events)).toBe('Hm | get {} | get {}');
    const assembler = assemblerOf('messages', true);
    for (const event of events) assembler.take(event);
    expect(assembler.turn().content.map(({ type }) => type)).toEqual(['tool_call', 'text', 'tool_call']);
  });

  test('a whole message may say its content as a text, and not say what it is', () => {
    expect(wholeOf('messages', { type: 'message', content: 'Hi.', stop_reason: 'end_turn' })).toBe('Hi.');
    expect(wholeOf('messages', { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] })).toBe('Hi.');
    expect(wholeOf('messages', { type: 'completion', completion: 'Hi.' })).toBe('malformed_response');
  });

  test('a later nought takes no count back, and the last event may hold the last', () => {
    const assembler = assemblerOf('messages', true);
    for (const event of [
      start,
      stop('end_turn', { input_tokens: 0, output_tokens: 4 }),
      { ...last, usage: { output_tokens: 9 } },
    ])
      assembler.take(event);
    expect(assembler.usage).toEqual({ inputTokens: 57, outputTokens: 9, cachedInputTokens: 7 });
  });
});

describe('a stream that is cut at any byte before its end', () => {
  const framed = (events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const call = { type: 'function_call', id: 'f', call_id: 'c', name: 'get', arguments: '{"a":"é"}' };
  const streams: { readonly [protocol in Protocol]: [events: readonly object[], end: readonly object[]] } = {
    chat: [
      [
        { choices: [{ delta: { content: 'Ç' } }] },
        {
          choices: [
            { delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'get', arguments: '{"a":"é"}' } }] } },
          ],
        },
      ],
      [{ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }],
    ],
    responses: [
      [
        { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'f', delta: '{"a":"é"}' },
        { type: 'response.output_item.done', output_index: 0, item: call },
      ],
      [{ type: 'response.completed', response: { status: 'completed', output: [call] } }],
    ],
    messages: [
      [
        { type: 'message_start', message: {} },
        { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c', name: 'get', input: {} } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":"é"}' } },
        { type: 'content_block_stop', index: 0 },
      ],
      [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }],
    ],
  };
  const read = (protocol: Protocol, bytes: Uint8Array) =>
    short(() => {
      const assembler = assemblerOf(protocol, true);
      const event = (one: unknown) => {
        assembler.take(one);
        return assembler.state === 'closed';
      };
      const parser = new AnswerParser(new Response(), 'p', true, { event, whole: () => {} });
      if (!parser.push(bytes)) parser.end();
      return assembler.turn();
    });

  test.each<Protocol>(['chat', 'responses', 'messages'])('is no turn, whole it is one: %s', (protocol) => {
    const [events, end] = streams[protocol];
    const encoder = new TextEncoder();
    const before = encoder.encode(framed(events));
    const all = encoder.encode(framed([...events, ...end]));
    expect(read(protocol, all)).toMatch(/get \{"a":"é"\}$/);
    for (let length = 0; length <= before.length; length += 1) {
      expect([length, read(protocol, all.subarray(0, length))]).toEqual([length, 'network!']);
    }
    // Within the last events it is one or the other, never half a turn.
    fc.assert(
      fc.property(fc.integer({ min: before.length, max: all.length }), (length) => {
        expect(read(protocol, all.subarray(0, length))).toMatch(/^network!$|get \{"a":"é"\}$/);
      }),
    );
  });
});
