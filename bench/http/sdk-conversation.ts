import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { answerTo, call } from '../script.ts';
import type { Api, Job } from './task.ts';

interface Turn {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly schema: { readonly type: 'object'; readonly [keyword: string]: unknown };
}

/** One conversation, in the form of its protocol. */
export interface SdkConversation {
  /** The next turn, which stands in the conversation then. */
  ask(onText: ((text: string) => void) | undefined): Promise<Turn>;
  append(results: readonly { readonly id: string; readonly text: string }[]): void;
}

/** Makes conversations with a model; the client, the definitions and the `earlier` pairs are made once. */
export type OpenConversation = (
  model: string,
  tools: readonly ToolDefinition[],
  earlier?: number,
) => (task?: string) => SdkConversation;

export function sdkConversations({ api, url, stream }: Job): OpenConversation {
  return OPEN[api](url, stream);
}

const SYSTEM = 'Go';
const key = 'bench-key';

const chat = (baseURL: string, stream: boolean): OpenConversation => {
  const client = new OpenAI({ apiKey: key, baseURL });
  return (model, definitions, earlier = 0) => {
    const tools = definitions.map(({ name, description, schema }) => {
      return { type: 'function', function: { name, description, parameters: { ...schema } } } as const;
    });
    const fixed = { model, ...(tools.length > 0 && { tools }) };
    const before = around<OpenAI.ChatCompletionMessageParam>(earlier, ({ id, query }) => {
      const named = { name: 'lookup', arguments: JSON.stringify({ query }) };
      const tool_calls = [{ id, type: 'function', function: named } as const];
      return [
        { role: 'assistant', content: null, tool_calls },
        { role: 'tool', tool_call_id: id, content: answerTo(query) },
      ];
    });
    return (task = 'Go') => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: SYSTEM },
        ...before,
        { role: 'user', content: task },
      ];
      return {
        async ask(onText) {
          const turn = stream
            ? await gather(
                await client.chat.completions.create({
                  ...fixed,
                  messages,
                  stream: true,
                  stream_options: { include_usage: true },
                }),
                onText,
              )
            : whole(await client.chat.completions.create({ ...fixed, messages }));
          const tool_calls = turn.calls.map(({ id, ...named }) => ({ id, type: 'function', function: named }) as const);
          messages.push({
            role: 'assistant',
            content: turn.text || null,
            ...(tool_calls.length > 0 && { tool_calls }),
          });
          return turn;
        },
        append(results) {
          for (const { id, text } of results) messages.push({ role: 'tool', tool_call_id: id, content: text });
        },
      };
    };
  };

  function whole({ choices }: OpenAI.ChatCompletion): Turn {
    const message = choices[0]?.message;
    const calls = (message?.tool_calls ?? []).flatMap((one) =>
      one.type === 'function' ? [{ id: one.id, name: one.function.name, arguments: one.function.arguments }] : [],
    );
    return { text: message?.content ?? '', calls };
  }

  async function gather(
    chunks: AsyncIterable<OpenAI.ChatCompletionChunk>,
    onText: ((text: string) => void) | undefined,
  ): Promise<Turn> {
    let text = '';
    const calls: { id: string; name: string; arguments: string }[] = [];
    for await (const { choices } of chunks) {
      const delta = choices[0]?.delta;
      if (delta === undefined) continue;
      if (delta.content) {
        text += delta.content;
        onText?.(delta.content);
      }
      for (const { index, id, function: named } of delta.tool_calls ?? []) {
        const growing = calls[index] ?? { id: '', name: '', arguments: '' };
        calls[index] = growing;
        growing.id ||= id ?? '';
        growing.name ||= named?.name ?? '';
        growing.arguments += named?.arguments ?? '';
      }
    }
    return { text, calls };
  }
};

const responses = (baseURL: string, stream: boolean): OpenConversation => {
  const client = new OpenAI({ apiKey: key, baseURL });
  return (model, definitions, earlier = 0) => {
    const tools = definitions.map(({ name, description, schema }) => {
      return { type: 'function', name, description, parameters: { ...schema }, strict: false } as const;
    });
    const fixed = { model, instructions: SYSTEM, store: false, ...(tools.length > 0 && { tools }) };
    const before = around<OpenAI.Responses.ResponseInputItem>(earlier, ({ id, query }) => [
      { type: 'function_call', call_id: id, name: 'lookup', arguments: JSON.stringify({ query }) },
      { type: 'function_call_output', call_id: id, output: answerTo(query) },
    ]);
    return (task = 'Go') => {
      const input: OpenAI.Responses.ResponseInputItem[] = [...before, { role: 'user', content: task }];
      return {
        async ask(onText) {
          const output = stream
            ? await gather(await client.responses.create({ ...fixed, input, stream: true }), onText)
            : (await client.responses.create({ ...fixed, input })).output;
          let text = '';
          const calls: { id: string; name: string; arguments: string }[] = [];
          for (const item of output) {
            input.push(item as OpenAI.Responses.ResponseInputItem);
            if (item.type === 'function_call') {
              calls.push({ id: item.call_id, name: item.name, arguments: item.arguments });
            }
            if (item.type !== 'message') continue;
            for (const part of item.content) if (part.type === 'output_text') text += part.text;
          }
          return { text, calls };
        },
        append(results) {
          for (const { id, text } of results) input.push({ type: 'function_call_output', call_id: id, output: text });
        },
      };
    };
  };

  async function gather(
    events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
    onText: ((text: string) => void) | undefined,
  ): Promise<OpenAI.Responses.ResponseOutputItem[]> {
    let output: OpenAI.Responses.ResponseOutputItem[] = [];
    for await (const event of events) {
      if (event.type === 'response.output_text.delta') onText?.(event.delta);
      else if (event.type === 'response.completed') output = event.response.output;
    }
    return output;
  }
};

const messages = (baseURL: string, stream: boolean): OpenConversation => {
  const client = new Anthropic({ apiKey: key, baseURL });
  return (model, definitions, earlier = 0) => {
    const tools = definitions.map(({ name, description, schema }) => {
      return { name, description, input_schema: { ...schema } } as const;
    });
    const fixed = { model, max_tokens: 16_384, system: SYSTEM, ...(tools.length > 0 && { tools }) };
    const before = around<Anthropic.MessageParam>(earlier, ({ id, query }) => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'lookup', input: { query } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: answerTo(query) }] },
    ]);
    return (task = 'Go') => {
      const all: Anthropic.MessageParam[] = [...before, { role: 'user', content: task }];
      return {
        async ask(onText) {
          const content = stream
            ? await gather(await client.messages.create({ ...fixed, messages: all, stream: true }), onText)
            : (await client.messages.create({ ...fixed, messages: all })).content;
          all.push({ role: 'assistant', content: content as Anthropic.ContentBlockParam[] });
          let text = '';
          const calls: { id: string; name: string; arguments: string }[] = [];
          for (const block of content) {
            if (block.type === 'text') text += block.text;
            if (block.type !== 'tool_use') continue;
            calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
          }
          return { text, calls };
        },
        append(results) {
          const content = results.map(({ id, text }) => {
            return { type: 'tool_result', tool_use_id: id, content: text } as const;
          });
          all.push({ role: 'user', content });
        },
      };
    };
  };

  async function gather(
    events: AsyncIterable<Anthropic.RawMessageStreamEvent>,
    onText: ((text: string) => void) | undefined,
  ): Promise<Anthropic.ContentBlock[]> {
    const blocks: Anthropic.ContentBlock[] = [];
    const inputs: string[] = [];
    for await (const event of events) {
      if (event.type === 'content_block_start') blocks[event.index] = event.content_block;
      if (event.type !== 'content_block_delta') continue;
      const block = blocks[event.index];
      if (event.delta.type === 'text_delta' && block?.type === 'text') {
        block.text += event.delta.text;
        onText?.(event.delta.text);
      } else if (event.delta.type === 'input_json_delta') {
        inputs[event.index] = (inputs[event.index] ?? '') + event.delta.partial_json;
      }
    }
    for (const [index, block] of blocks.entries()) {
      if (block.type === 'tool_use') block.input = JSON.parse(inputs[index] ?? '{}');
    }
    return blocks;
  }
};

const OPEN: { readonly [api in Api]: (url: string, stream: boolean) => OpenConversation } = {
  chat,
  responses,
  messages,
};

/** Earlier messages: a user's, then pairs of a call and its result, then an answer; none of them where there are no pairs. */
function around<Message>(
  count: number,
  pairOf: (one: { readonly id: string; readonly query: string }) => Message[],
): (Message | { role: 'user' | 'assistant'; content: string })[] {
  if (count === 0) return [];
  const pairs = Array.from({ length: count }, (_, index) => pairOf(call(index))).flat();
  return [{ role: 'user', content: 'Go' }, ...pairs, { role: 'assistant', content: 'Done' }];
}
