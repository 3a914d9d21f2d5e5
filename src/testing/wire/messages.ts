import { toolCallsOf } from '../../core/values/message.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { StopReason } from '../../core/values/stop-reason.ts';
import { type About, pieces, slices, type Wire, type WireEvent } from './message.ts';

const STOP: { readonly [stop in StopReason]: string } = {
  end: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  filtered: 'refusal',
  refused: 'refusal',
  paused: 'pause_turn',
};

/** Anthropic's Messages. */
export const messagesWire: Wire = {
  body(turn, about) {
    return {
      ...head(about),
      content: blocksOf(turn),
      stop_reason: stopOf(turn),
      stop_sequence: null,
      ...usageOf(turn),
    };
  },
  events(turn, about) {
    const { usage } = usageOf(turn);
    const begun = usage === undefined ? {} : { usage: { ...usage, output_tokens: 1 } };
    const message = { ...head(about), content: [], stop_reason: null, stop_sequence: null, ...begun };
    const events = [named({ type: 'message_start', message })];
    for (const [index, block] of blocksOf(turn).entries()) events.push(...blockEvents(index, block));
    const counted = usage === undefined ? {} : { usage: { output_tokens: usage.output_tokens } };
    const delta = { stop_reason: stopOf(turn), stop_sequence: null };
    return [...events, named({ type: 'message_delta', delta, ...counted }), named({ type: 'message_stop' })];
  },
  error: ({ message, type }) => ({ type: 'error', error: { type, message } }),
};

type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown };

function head({ number, model }: About) {
  return { id: `msg_fake_${number}`, type: 'message', role: 'assistant', model };
}

function named(data: { readonly type: string; readonly [field: string]: unknown }): WireEvent {
  return { event: data.type, data };
}

function stopOf(turn: ModelTurn): string {
  return toolCallsOf(turn.content).length > 0 && turn.stop === 'end' ? 'tool_use' : STOP[turn.stop];
}

function blocksOf({ content }: ModelTurn): Block[] {
  return content.map((part): Block => {
    if (part.type === 'text') return part;
    if (part.type === 'reasoning') return { type: 'thinking', thinking: part.text ?? '', signature: 'c2lnbmVk' };
    return { type: 'tool_use', id: part.id, name: part.name, input: inputOf(part.arguments) };
  });
}

/** This protocol has arguments as JSON: invalid JSON can only be sent in a stream. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function blockEvents(index: number, block: Block): WireEvent[] {
  const delta = (data: { type: string; [field: string]: unknown }) =>
    named({ type: 'content_block_delta', index, delta: data });
  const start = (content_block: object) => named({ type: 'content_block_start', index, content_block });
  const stop = named({ type: 'content_block_stop', index });
  switch (block.type) {
    case 'text':
      return [
        start({ ...block, text: '' }),
        ...pieces(block.text).map((text) => delta({ type: 'text_delta', text })),
        stop,
      ];
    case 'thinking': {
      const thoughts = pieces(block.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking }));
      const signed = delta({ type: 'signature_delta', signature: block.signature });
      return [start({ ...block, thinking: '', signature: '' }), ...thoughts, signed, stop];
    }
    case 'tool_use': {
      const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input);
      const parts = slices(json).map((partial_json) => delta({ type: 'input_json_delta', partial_json }));
      return [start({ ...block, input: {} }), ...parts, stop];
    }
  }
}

/** Cached and written input tokens are counted separately here. */
function usageOf({ usage }: ModelTurn): {
  usage?: { readonly output_tokens: number; readonly [count: string]: number };
} {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usage;
  return {
    usage: {
      input_tokens: inputTokens - (cachedInputTokens ?? 0) - (cacheWriteTokens ?? 0),
      output_tokens: outputTokens,
      ...(cachedInputTokens === undefined ? {} : { cache_read_input_tokens: cachedInputTokens }),
      ...(cacheWriteTokens === undefined ? {} : { cache_creation_input_tokens: cacheWriteTokens }),
    },
  };
}
