import { textOf, toolCallsOf } from '../../core/values/message.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { StopReason } from '../../core/values/stop-reason.ts';
import { type About, pieces, slices, type Wire, type WireEvent } from './message.ts';

const FINISH: { readonly [stop in StopReason]: string } = {
  end: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  filtered: 'content_filter',
  refused: 'stop',
  paused: 'stop',
};

/** OpenAI's Chat Completions. */
export const chatWire: Wire = {
  body(turn, about) {
    const calls = callsOf(turn).map(({ index: _, ...call }) => call);
    const text = textOf(turn.content);
    const message = {
      role: 'assistant',
      content: turn.stop === 'refused' || text === '' ? null : text,
      ...(turn.stop === 'refused' ? { refusal: text || 'No.' } : {}),
      ...reasoningOf(turn),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: finishOf(turn) }];
    return { ...head('chat.completion', about), choices, ...usageOf(turn) };
  },
  events(turn, about) {
    const chunk = (delta: object, finish: string | null = null): WireEvent => ({
      data: { ...head('chat.completion.chunk', about), choices: [{ index: 0, delta, finish_reason: finish }] },
    });
    const events = [chunk({ role: 'assistant', content: '' })];
    for (const part of turn.content) {
      if (part.type === 'tool_call') continue;
      const field = part.type === 'reasoning' ? 'reasoning_content' : turn.stop === 'refused' ? 'refusal' : 'content';
      for (const piece of pieces(part.text ?? '')) events.push(chunk({ [field]: piece }));
    }
    for (const { index, function: called, ...call } of callsOf(turn)) {
      const [first = '', ...rest] = slices(called.arguments);
      events.push(chunk({ tool_calls: [{ index, ...call, function: { ...called, arguments: first } }] }));
      for (const more of rest) events.push(chunk({ tool_calls: [{ index, function: { arguments: more } }] }));
    }
    events.push(chunk({}, finishOf(turn)));
    const { usage } = usageOf(turn);
    if (usage !== undefined) events.push({ data: { ...head('chat.completion.chunk', about), choices: [], usage } });
    return [...events, { data: '[DONE]' }];
  },
  error: ({ message, type, code }) => ({ error: { message, type, param: null, code } }),
};

function head(object: string, { number, model }: About) {
  return { id: `chatcmpl-fake-${number}`, object, created: 1_700_000_000, model };
}

function finishOf(turn: ModelTurn): string {
  return toolCallsOf(turn.content).length > 0 && turn.stop === 'end' ? 'tool_calls' : FINISH[turn.stop];
}

function callsOf(turn: ModelTurn) {
  return toolCallsOf(turn.content).map(({ id, name, arguments: text }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
}

function reasoningOf({ content }: ModelTurn): { reasoning_content?: string } {
  const reasoning = content.flatMap((part) => (part.type === 'reasoning' ? (part.text ?? []) : []));
  return reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('') };
}

function usageOf({ usage }: ModelTurn): { usage?: object } {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      ...(cachedInputTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
      ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
    },
  };
}
