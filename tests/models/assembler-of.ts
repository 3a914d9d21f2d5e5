import type { ModelDelta, ModelTurn } from '../../src/core/values/model.ts';
import type { Assembler } from '../../src/models/answer/exchange.ts';
import { AnthropicAssembler } from '../../src/models/anthropic/turn.ts';
import { ChatAssembler } from '../../src/models/openai/chat-turn.ts';
import { ResponsesAssembler } from '../../src/models/openai/responses-turn.ts';

export type Protocol = 'chat' | 'responses' | 'messages';

/** The assembler of a protocol, without names to give back; ids that it makes are counted. */
export function assemblerOf(protocol: Protocol, inPieces: boolean): Assembler {
  let made = 0;
  const newId = () => {
    made += 1;
    return `made${made}`;
  };
  const names = new Map<string, string>();
  const origin = { api: protocol, endpoint: 'here' };
  if (protocol === 'chat') return new ChatAssembler({ names, newId, origin, stream: inPieces });
  if (protocol === 'responses') return new ResponsesAssembler({ names, newId, origin });
  return new AnthropicAssembler({ names, newId, origin, inPieces });
}

/** A turn in short: its texts, then its calls as `name arguments`; of an error its kind, with `!` where it may be tried again. */
export function short(read: () => ModelTurn): string {
  try {
    const { content } = read();
    const calls = content.flatMap((part) => (part.type === 'tool_call' ? [`${part.name} ${part.arguments}`] : []));
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return [...texts, ...calls].join(' | ');
  } catch (thrown) {
    const { kind, retryable } = thrown as { kind?: string; retryable?: boolean };
    return kind === undefined ? String(thrown) : `${kind}${retryable ? '!' : ''}`;
  }
}

/** What events of a stream come to. */
export function turnOf(protocol: Protocol, events: readonly unknown[], heard?: (delta: ModelDelta) => void): string {
  return short(() => {
    const assembler = assemblerOf(protocol, true);
    for (const event of events) {
      assembler.take(event, heard);
      if (assembler.state === 'closed') break;
    }
    return assembler.turn();
  });
}

/** What a whole answer comes to. */
export function wholeOf(protocol: Protocol, answer: unknown): string {
  return short(() => {
    const assembler = assemblerOf(protocol, false);
    assembler.take(answer);
    return assembler.turn();
  });
}
