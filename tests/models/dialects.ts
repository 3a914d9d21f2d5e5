import type { Protocol } from './assembler-of.ts';

export interface Parts {
  readonly text?: string;
  readonly thought?: string;
  readonly calls?: readonly string[];
}
export type Event = { readonly [field: string]: unknown };
export type Ending = 'end' | 'tool_calls' | 'length' | 'filtered' | 'refused' | 'failed' | 'new';

/** An answer as each protocol says it. `undefined` is an ending for which it has no word. */
export interface Dialect {
  /** The pieces of an answer, without its end. */
  pieces(parts: Parts): Event[];
  end(ending: Ending, parts: Parts): Event[] | undefined;
  whole(ending: Ending, parts: Parts): Event | undefined;
  /** An error in the middle of a stream. */
  error(code: string, message: string): Event;
}

export const ARGS = '{"a":1}';
export const idOf = (name: string) => `id_${name}`;

const chat: Dialect = (() => {
  const REASONS = {
    end: 'stop',
    tool_calls: 'tool_calls',
    length: 'length',
    filtered: 'content_filter',
    refused: 'refusal',
    failed: 'error',
    new: 'brand_new',
  };
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'r',
    model: 'm-1',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const call = (name: string, args: string) => ({
    id: idOf(name),
    type: 'function',
    function: { name, arguments: args },
  });
  return {
    pieces: ({ text, thought, calls = [] }) => [
      ...(thought === undefined ? [] : [chunk({ reasoning_content: thought })]),
      ...[...(text ?? '')].map((content) => chunk({ content })),
      ...calls.flatMap((name, index) => [
        chunk({ tool_calls: [{ index, ...call(name, '') }] }),
        ...[...ARGS].map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ]),
    ],
    end: (ending) => [chunk({}, REASONS[ending]), { choices: [], usage }, { object: 'coxswain.done' }],
    whole: (ending, { text, thought, calls = [] }) => ({
      id: 'r',
      model: 'm-1',
      usage,
      choices: [
        {
          index: 0,
          finish_reason: REASONS[ending],
          message: {
            role: 'assistant',
            content: text ?? null,
            ...(thought === undefined ? {} : { reasoning_content: thought }),
            ...(calls.length === 0 ? {} : { tool_calls: calls.map((name) => call(name, ARGS)) }),
          },
        },
      ],
    }),
    error: (code, message) => ({ error: { code, message } }),
  };
})();

const responses: Dialect = (() => {
  const item = (name: string, args: string) => ({
    type: 'function_call',
    id: `f_${name}`,
    call_id: idOf(name),
    name,
    arguments: args,
  });
  const message = (text: string) => ({
    type: 'message',
    id: 'm',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const output = ({ text, thought, calls = [] }: Parts) => [
    ...(thought === undefined
      ? []
      : [{ type: 'reasoning', id: 't', summary: [{ type: 'summary_text', text: thought }] }]),
    ...(text === undefined ? [] : [message(text)]),
    ...calls.map((name) => item(name, ARGS)),
  ];
  const response = (ending: Ending, parts: Parts) => {
    const about = { id: 'r', model: 'm-1', usage: { input_tokens: 7, output_tokens: 3 }, output: output(parts) };
    switch (ending) {
      case 'length':
        return { ...about, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
      case 'filtered':
        return { ...about, status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
      case 'failed':
        return { ...about, status: 'failed', error: { code: 'server_error', message: 'sorry' } };
      case 'refused':
      case 'tool_calls':
      case 'new':
        return undefined;
      case 'end':
        return { ...about, status: 'completed' };
    }
  };
  return {
    pieces: ({ text, thought, calls = [] }) => [
      { type: 'response.created', response: { id: 'r', model: 'm-1', status: 'in_progress' } },
      ...output({ ...(thought !== undefined && { thought }) }).map((done, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item: done,
      })),
      ...[...(text ?? '')].map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'm',
        output_index: 1,
        content_index: 0,
        delta,
      })),
      ...calls.flatMap((name, index) => [
        { type: 'response.output_item.added', output_index: index + 2, item: item(name, '') },
        ...[...ARGS].map((delta) => ({
          type: 'response.function_call_arguments.delta',
          item_id: `f_${name}`,
          output_index: index + 2,
          delta,
        })),
        { type: 'response.output_item.done', output_index: index + 2, item: item(name, ARGS) },
      ]),
    ],
    end: (ending, parts) => {
      const whole = response(ending, parts);
      return whole && [{ type: `response.${whole.status}`, response: whole }];
    },
    whole: (ending, parts) => response(ending, parts),
    error: (code, message) => ({ type: 'error', code, message, param: null }),
  };
})();

const messages: Dialect = (() => {
  const REASONS: { readonly [ending in Ending]: string | undefined } = {
    end: 'end_turn',
    tool_calls: 'tool_use',
    length: 'max_tokens',
    filtered: undefined,
    refused: 'refusal',
    failed: undefined,
    new: 'brand_new',
  };
  const blocks = ({ text, thought, calls = [] }: Parts) => [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 's' }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map((name) => ({ type: 'tool_use', id: idOf(name), name, input: { a: 1 } })),
  ];
  const empty = (block: Event): Event =>
    block.type === 'tool_use'
      ? { ...block, input: {} }
      : block.type === 'text'
        ? { ...block, text: '' }
        : { ...block, thinking: '', signature: '' };
  const deltas = (block: Event): Event[] => {
    if (block.type === 'tool_use') {
      return [...ARGS].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    }
    if (block.type === 'text') return [...String(block.text)].map((text) => ({ type: 'text_delta', text }));
    return [
      { type: 'thinking_delta', thinking: block.thinking },
      { type: 'signature_delta', signature: block.signature },
    ];
  };
  return {
    pieces: (parts) => [
      { type: 'message_start', message: { id: 'r', model: 'm-1', usage: { input_tokens: 7, output_tokens: 1 } } },
      ...blocks(parts).flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: empty(block) },
        ...deltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
    ],
    end: (ending) =>
      REASONS[ending] === undefined
        ? undefined
        : [
            { type: 'message_delta', delta: { stop_reason: REASONS[ending] }, usage: { output_tokens: 3 } },
            { type: 'message_stop' },
          ],
    whole: (ending, parts) =>
      REASONS[ending] === undefined
        ? undefined
        : {
            type: 'message',
            id: 'r',
            model: 'm-1',
            role: 'assistant',
            content: blocks(parts),
            stop_reason: REASONS[ending],
            usage: { input_tokens: 7, output_tokens: 3 },
          },
    error: (code, message) => ({ type: 'error', error: { type: code, message } }),
  };
})();

export const DIALECTS: { readonly [protocol in Protocol]: Dialect } = { chat, responses, messages };
