import { ModelError } from '../../core/values/errors.ts';
import type { AssistantPart } from '../../core/values/message.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { StopReason } from '../../core/values/stop-reason.ts';

/**
 * Why the provider stopped, independent of the provider. `cut` is a stream that ended before its terminal signal, `full` an answer that filled the
 * context window: a continuation would need even more.
 */
export type AnswerEnd = StopReason | 'full' | 'cut' | 'failed' | 'malformed' | 'overloaded';

/** A turn counts as a whole or not at all: no call of a truncated, filtered, failed or refused turn may run. */
export function commit(provider: string, end: AnswerEnd, turn: Omit<ModelTurn, 'stop'>): ModelTurn {
  const has = (type: AssistantPart['type']) => turn.content.some((part) => part.type === type);
  const { usage } = turn;
  switch (end) {
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
      // Servers name one and send the other; the content decides.
      return { ...turn, stop: has('tool_call') ? 'tool_calls' : 'end' };
  }
}

/** The provider's id and model of its answer. */
export function responseOf(id: string | undefined, model: string | undefined): NonNullable<ModelTurn['response']> {
  return { ...(id === undefined ? {} : { id }), ...(model === undefined ? {} : { model }) };
}

/** Makes an id if the provider gave none, or gave one twice in a turn. */
export function distinctId(given: string | undefined, taken: Set<string>, newId: () => string): string {
  let id = given;
  while (id === undefined || id === '' || taken.has(id)) id = newId();
  taken.add(id);
  return id;
}
