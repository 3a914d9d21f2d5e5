import type { ModelTurn } from '../../core/values/model.ts';
import { type About, pieces, slices, type Wire, type WireEvent } from './message.ts';

/** OpenAI's Responses. */
export const responsesWire: Wire = {
  body(turn, about) {
    return responseBody(turn, about);
  },
  events(turn, about) {
    let sequence_number = 0;
    const named = (type: string, fields: object): WireEvent => ({
      event: type,
      data: { type, sequence_number: sequence_number++, ...fields },
    });
    const begun = {
      ...responseBody(turn, about),
      status: 'in_progress',
      output: [],
      usage: null,
      incomplete_details: null,
    };
    const events = [named('response.created', { response: begun }), named('response.in_progress', { response: begun })];
    for (const [output_index, item] of itemsOf(turn, about).entries()) {
      events.push(...itemEvents(item, output_index, named));
    }
    const end = isIncomplete(turn) ? 'response.incomplete' : 'response.completed';
    return [...events, named(end, { response: responseBody(turn, about) })];
  },
  error: ({ message, type, code }) => ({ error: { message, type, param: null, code } }),
};

type Named = (type: string, fields: object) => WireEvent;
type Item = MessageItem | ReasoningItem | CallItem;

interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  readonly role: 'assistant';
  readonly status: 'completed';
  readonly content: readonly ContentPart[];
}
type ContentPart =
  | { readonly type: 'output_text'; readonly text: string; readonly annotations: readonly never[] }
  | { readonly type: 'refusal'; readonly refusal: string };
interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[];
}
interface CallItem {
  readonly type: 'function_call';
  readonly id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly status: 'completed';
}

function isIncomplete({ stop }: ModelTurn): boolean {
  return stop === 'length' || stop === 'filtered';
}

function responseBody(turn: ModelTurn, about: About) {
  const reason = turn.stop === 'length' ? 'max_output_tokens' : 'content_filter';
  return {
    id: `resp_fake_${about.number}`,
    object: 'response',
    created_at: 1_700_000_000,
    status: isIncomplete(turn) ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: isIncomplete(turn) ? { reason } : null,
    model: about.model,
    output: itemsOf(turn, about),
    parallel_tool_calls: true,
    ...usageOf(turn),
  };
}

function itemsOf({ content, stop }: ModelTurn, { number }: About): Item[] {
  return content.map((part, index): Item => {
    const id = `item_fake_${number}_${index}`;
    if (part.type === 'reasoning') {
      const summary = part.text === undefined ? [] : [{ type: 'summary_text' as const, text: part.text }];
      return { type: 'reasoning', id: `rs_${id}`, summary };
    }
    if (part.type === 'tool_call') {
      const { id: call_id, name, arguments: text } = part;
      return { type: 'function_call', id: `fc_${id}`, call_id, name, arguments: text, status: 'completed' };
    }
    const content: ContentPart =
      stop === 'refused'
        ? { type: 'refusal', refusal: part.text }
        : { type: 'output_text', text: part.text, annotations: [] };
    return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content: [content] };
  });
}

function itemEvents(item: Item, output_index: number, named: Named): WireEvent[] {
  const added = (empty: object) => named('response.output_item.added', { output_index, item: { ...item, ...empty } });
  const done = () => named('response.output_item.done', { output_index, item });
  const at = { item_id: item.id, output_index };
  switch (item.type) {
    case 'function_call': {
      const first = added({ arguments: '', status: 'in_progress' });
      const type = 'response.function_call_arguments';
      const deltas = slices(item.arguments).map((delta) => named(`${type}.delta`, { ...at, delta }));
      return [first, ...deltas, named(`${type}.done`, { ...at, arguments: item.arguments }), done()];
    }
    case 'reasoning': {
      const first = added({ summary: [] });
      const thoughts = item.summary.flatMap(({ text }, summary_index) => [
        named('response.reasoning_summary_part.added', {
          ...at,
          summary_index,
          part: { type: 'summary_text', text: '' },
        }),
        ...pieces(text).map((delta) => named('response.reasoning_summary_text.delta', { ...at, summary_index, delta })),
        named('response.reasoning_summary_text.done', { ...at, summary_index, text }),
        named('response.reasoning_summary_part.done', { ...at, summary_index, part: { type: 'summary_text', text } }),
      ]);
      return [first, ...thoughts, done()];
    }
    case 'message': {
      const first = added({ content: [], status: 'in_progress' });
      const parts = item.content.flatMap((part, content_index) => contentEvents(part, { ...at, content_index }, named));
      return [first, ...parts, done()];
    }
  }
}

function contentEvents(part: ContentPart, at: object, named: Named): WireEvent[] {
  const [type, field, text] =
    part.type === 'refusal'
      ? (['response.refusal', 'refusal', part.refusal] as const)
      : (['response.output_text', 'text', part.text] as const);
  return [
    named('response.content_part.added', { ...at, part: { ...part, [field]: '' } }),
    ...pieces(text).map((delta) => named(`${type}.delta`, { ...at, delta })),
    named(`${type}.done`, { ...at, [field]: text }),
    named('response.content_part.done', { ...at, part }),
  ];
}

function usageOf({ usage }: ModelTurn): { usage?: object } {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
  return {
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  };
}
