import { ModelError } from './errors.ts';
import type { AssistantPart } from './message.ts';
import type { CallUsage } from './usage.ts';

/** Every reason for which a turn ends. */
export const STOP_REASONS = ['end', 'tool_calls', 'length', 'filtered', 'refused', 'paused'] as const;

/** Why a turn ended. `length`: truncated at its token limit; `paused`: the provider continues when it is asked again. */
export type StopReason = (typeof STOP_REASONS)[number];

export function isStopReason(stop: unknown): stop is StopReason {
  return STOP_REASONS.some((reason) => reason === stop);
}

/** Servers say one reason and send another answer: what was sent decides. Throws where the turn must not be acted on. */
export function checkStop(
  stop: StopReason,
  content: readonly AssistantPart[],
  hasCalls: boolean,
  usage: CallUsage | undefined,
): StopReason {
  switch (stop) {
    case 'filtered':
      throw new ModelError('content_filter', 'the provider filtered the answer', { usage });
    case 'refused':
      throw new ModelError('refusal', 'the model refused to answer', { usage });
    case 'length': {
      // Truncated inside its text alone it can be continued: see `continued`.
      const hasText = content.some((part) => part.type === 'text' && part.text.trim() !== '');
      if (hasText && !hasCalls) return stop;
      const where = hasCalls ? ', inside or after a tool call' : ', before it said anything';
      throw new ModelError('output_truncated', `the answer was cut at its token limit${where}`, { usage });
    }
    case 'paused':
      return hasCalls ? 'tool_calls' : stop;
    case 'end':
    case 'tool_calls':
      return hasCalls ? 'tool_calls' : 'end';
  }
}
