import type { Api } from './task.ts';

/** One turn that the provider gives. */
export interface Answer {
  readonly texts: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

/** An event of a stream: its data as JSON, or as it is; the name of it where the protocol has one. */
export interface WireEvent {
  readonly event?: string;
  readonly data: object | string;
}

/** A turn in the form of a protocol, whole or in pieces. */
export interface Wire {
  whole(model: string, answer: Answer): object;
  events(model: string, answer: Answer): Iterable<WireEvent>;
}

export function framed({ event, data }: WireEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
}

/** Arguments come in four pieces. */
function quarters(text: string): string[] {
  const length = Math.ceil(text.length / 4);
  return [0, 1, 2, 3].map((n) => text.slice(n * length, (n + 1) * length)).filter((piece) => piece !== '');
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 0 },
};

const chat: Wire = {
  whole(model, { texts, calls }) {
    const message = {
      role: 'assistant',
      content: calls.length > 0 ? null : texts.join(''),
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(chatCall) }),
    };
    const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
    const choices = [{ index: 0, message, logprobs: null, finish_reason }];
    return { id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model, choices, usage: USAGE };
  },
  *events(model, { texts, calls }) {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      data: {
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model,
        service_tier: 'default',
        system_fingerprint: 'fp_1',
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        usage: null,
      },
    });
    yield chunk({ role: 'assistant', content: calls.length > 0 ? null : '', refusal: null });
    for (const content of texts) yield chunk({ content });
    for (const [index, { id, name, arguments: args }] of calls.entries()) {
      yield chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      for (const piece of quarters(args)) yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
    yield chunk({}, calls.length > 0 ? 'tool_calls' : 'stop');
    yield { data: { ...chunk({}).data, choices: [], usage: USAGE } };
    yield { data: '[DONE]' };
  },
};

function chatCall({ id, name, arguments: args }: Answer['calls'][number]): object {
  return { id, type: 'function', function: { name, arguments: args } };
}

const responses: Wire = {
  whole: (model, answer) => response(model, 'completed', items(answer)),
  *events(model, answer) {
    let sequence_number = 0;
    const event = (type: string, fields: object) => {
      sequence_number += 1;
      return { event: type, data: { type, sequence_number, ...fields } };
    };
    yield event('response.created', { response: response(model, 'in_progress', []) });
    yield event('response.in_progress', { response: response(model, 'in_progress', []) });
    for (const [output_index, item] of items(answer).entries()) {
      const item_id = item.id;
      if (item.type === 'message') {
        const first = { ...item, status: 'in_progress', content: [] };
        yield event('response.output_item.added', { output_index, item: first });
        const part = { item_id, output_index, content_index: 0 };
        yield event('response.content_part.added', {
          ...part,
          part: { type: 'output_text', text: '', annotations: [] },
        });
        for (const delta of answer.texts) {
          yield event('response.output_text.delta', { ...part, delta, logprobs: [], obfuscation: 'x8f2' });
        }
        yield event('response.output_text.done', { ...part, text: answer.texts.join(''), logprobs: [] });
        yield event('response.content_part.done', { ...part, part: item.content?.[0] });
      } else {
        const first = { ...item, status: 'in_progress', arguments: '' };
        yield event('response.output_item.added', { output_index, item: first });
        for (const delta of quarters(item.arguments ?? '')) {
          yield event('response.function_call_arguments.delta', { item_id, output_index, delta, obfuscation: 'x8f2' });
        }
        yield event('response.function_call_arguments.done', { item_id, output_index, arguments: item.arguments });
      }
      yield event('response.output_item.done', { output_index, item });
    }
    yield event('response.completed', { response: response(model, 'completed', items(answer)) });
  },
};

interface Item {
  readonly type: 'message' | 'function_call';
  readonly id: string;
  readonly arguments?: string;
  readonly content?: readonly object[];
}

function items({ texts, calls }: Answer): Item[] {
  const said = { type: 'output_text', text: texts.join(''), annotations: [], logprobs: [] };
  if (calls.length === 0) {
    return [{ type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [said] } as Item];
  }
  return calls.map(({ id, name, arguments: args }) => {
    return { type: 'function_call', id: `fc_${id}`, status: 'completed', call_id: id, name, arguments: args } as Item;
  });
}

function response(model: string, status: string, output: readonly Item[]): object {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 120,
  };
  const fixed = { parallel_tool_calls: true, previous_response_id: null, store: false, temperature: 1, top_p: 1 };
  const known = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, status, error: null, model, output };
  return { ...known, ...fixed, tool_choice: 'auto', tools: [], usage: status === 'completed' ? usage : null };
}

const messages: Wire = {
  whole: (model, answer) => message(model, blocks(answer), answer.calls.length > 0 ? 'tool_use' : 'end_turn'),
  *events(model, answer) {
    const event = (type: string, fields: object = {}) => ({ event: type, data: { type, ...fields } });
    yield event('message_start', { message: message(model, [], null) });
    for (const [index, block] of blocks(answer).entries()) {
      const isText = block.type === 'text';
      yield event('content_block_start', {
        index,
        content_block: isText ? { ...block, text: '' } : { ...block, input: {} },
      });
      const pieces = isText
        ? answer.texts.map((text) => ({ type: 'text_delta', text }))
        : quarters(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
      for (const delta of pieces) yield event('content_block_delta', { index, delta });
      yield event('content_block_stop', { index });
    }
    const stop_reason = answer.calls.length > 0 ? 'tool_use' : 'end_turn';
    yield event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } });
    yield event('message_stop');
  },
};

interface Block {
  readonly type: 'text' | 'tool_use';
  readonly input?: unknown;
}

function blocks({ texts, calls }: Answer): Block[] {
  if (calls.length === 0) return [{ type: 'text', text: texts.join('') } as Block];
  return calls.map(
    ({ id, name, arguments: args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) }) as Block,
  );
}

function message(model: string, content: readonly Block[], stop_reason: string | null): object {
  const counts = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const usage = { input_tokens: 100, ...counts, output_tokens: stop_reason === null ? 1 : 20 };
  return { id: 'msg_1', type: 'message', role: 'assistant', model, content, stop_reason, stop_sequence: null, usage };
}

export const wires: { readonly [api in Api]: Wire } = { chat, responses, messages };
