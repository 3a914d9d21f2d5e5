import { ModelError } from '../../core/values/errors.ts';
import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelTurn, StopReason } from '../../core/values/model.ts';

/**
 * Why the provider stopped, in neutral words. `cut` is a stream that ended before its terminal signal, `full` an answer for
 * which the context window had no more room: to go on with it would need more still.
 */
export type Ending = StopReason | 'full' | 'cut' | 'failed' | 'malformed' | 'overloaded';

/** A turn counts as a whole or not at all: cut, filtered, failed or refused, none of its calls may run. */
export function commit(provider: string, ending: Ending, turn: Omit<ModelTurn, 'stop'>): ModelTurn {
  const has = (type: AssistantPart['type']) => turn.content.some((part) => part.type === type);
  const { usage } = turn;
  switch (ending) {
    case 'cut':
      throw new ModelError('network', `${provider}: the answer ended before it was complete`, { usage });
    case 'failed':
      throw new ModelError('server_error', `${provider}: the provider broke its answer off`, { usage });
    case 'overloaded':
      throw new ModelError('overloaded', `${provider}: the provider ran out of resources`, { usage });
    case 'malformed':
      throw new ModelError(
        'malformed_response',
        `${provider}: the model wrote a call that the provider could not read`,
        {
          retryable: true,
          usage,
        },
      );
    case 'filtered':
      throw new ModelError('content_filter', `${provider}: the answer was stopped by a content filter`, { usage });
    case 'refused':
      throw new ModelError('refusal', `${provider}: the model refused to answer`, { usage });
    case 'full':
      throw new ModelError('output_truncated', `${provider}: the context window is full`, { usage });
    case 'length':
      if (!has('text') || has('tool_call')) {
        throw new ModelError('output_truncated', `${provider}: the answer was cut at its length limit`, { usage });
      }
      return { ...turn, stop: 'length' };
    case 'paused':
      return { ...turn, stop: has('tool_call') ? 'tool_calls' : 'paused' };
    case 'end':
    case 'tool_calls':
      // Servers say one and send the other; what was sent decides.
      return { ...turn, stop: has('tool_call') ? 'tool_calls' : 'end' };
  }
}

/** What the provider said of its answer. */
export function responseOf(id: string | undefined, model: string | undefined): NonNullable<ModelTurn['response']> {
  return { ...(id === undefined ? {} : { id }), ...(model === undefined ? {} : { model }) };
}

/** Makes an id where the provider gave none, or gave one twice in a turn. */
export function distinctId(given: string | undefined, taken: Set<string>, newId: () => string): string {
  let id = given;
  while (id === undefined || id === '' || taken.has(id)) id = newId();
  taken.add(id);
  return id;
}
