import { type ErrorRecord, isA, ModelError, messageOf } from './errors.ts';
import type { Json } from './json.ts';
import { deepFreeze } from './json.ts';
import type { AssistantPart } from './message.ts';
import type { ModelTurn } from './model.ts';
import { type CallUsage, usageFault } from './usage.ts';

const STOPS: readonly unknown[] = ['end', 'tool_calls', 'length', 'filtered', 'refused', 'paused'];

/**
 * What a model returned, checked, copied and frozen: a model may be anybody's code. A turn that must not be acted on is a
 * ModelError, also where a call in it is whole: cut, filtered, refused, malformed, usage that cannot be counted.
 */
export function checkTurn(turn: unknown, step: number): ModelTurn {
  if (!isRecord(turn) || !Array.isArray(turn.content)) throw malformed('a turn has content, an array of parts');
  if (!STOPS.includes(turn.stop)) throw malformed('stop is end, tool_calls, length, filtered, refused or paused');
  const ids = new Set<string>();
  const content = turn.content.map((part, index) => checkPart(part, index, step, ids));
  const { usage, native } = turn as { usage?: CallUsage; native?: Json };
  const response = checkResponse(turn.response);
  if (usage !== undefined) {
    const fault = isRecord(usage) ? usageFault(usage) : 'usage: expected an object';
    if (fault !== undefined) throw malformed(fault);
  }
  const calls = ids.size > 0;
  if (turn.stop === 'filtered') throw new ModelError('content_filter', 'the provider filtered the answer');
  if (turn.stop === 'refused') throw new ModelError('refusal', 'the model refused to answer');
  if (turn.stop === 'length') {
    throw new ModelError(
      'output_truncated',
      `the answer was cut at its token limit${calls ? ', inside or after a tool call' : ''}`,
    );
  }
  return {
    content: Object.freeze(content),
    stop: calls ? 'tool_calls' : turn.stop === 'tool_calls' ? 'end' : (turn.stop as ModelTurn['stop']),
    ...(usage !== undefined && { usage: Object.freeze({ ...usage }) }),
    ...(native !== undefined && { native: deepFreeze(native) }),
    ...(response !== undefined && { response }),
  };
}

/** What the provider says of its answer: kept where it is text. */
function checkResponse(response: unknown): ModelTurn['response'] {
  if (!isRecord(response)) return undefined;
  const { id, model } = response;
  return Object.freeze({ ...(typeof id === 'string' && { id }), ...(typeof model === 'string' && { model }) });
}

function checkPart(part: unknown, index: number, step: number, ids: Set<string>): AssistantPart {
  if (isRecord(part)) {
    if (part.type === 'text' && typeof part.text === 'string') return Object.freeze({ type: 'text', text: part.text });
    if (part.type === 'reasoning') {
      return Object.freeze(
        typeof part.text === 'string' ? { type: 'reasoning', text: part.text } : { type: 'reasoning' },
      );
    }
    if (part.type === 'tool_call' && typeof part.name === 'string' && typeof part.arguments === 'string') {
      const given = typeof part.id === 'string' ? part.id : '';
      const id = given === '' || ids.has(given) ? `call_${step}_${index}` : given;
      ids.add(id);
      return Object.freeze({ type: 'tool_call', id, name: part.name, arguments: part.arguments });
    }
  }
  throw malformed(
    `content[${index}] is text { text }, reasoning { text? } or tool_call { id, name, arguments: JSON text }`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function malformed(expected: string): ModelError {
  return new ModelError('malformed_response', `malformed response: ${expected}`);
}

/** What a model threw, as an error to record. What is no ModelError is unknown and never retried. */
export function modelFailure(thrown: unknown): ErrorRecord {
  if (!isA(thrown, ModelError)) {
    return { kind: 'unknown', message: messageOf(thrown).slice(0, 1_000), retryable: false };
  }
  return {
    kind: thrown.kind,
    message: thrown.message,
    retryable: thrown.retryable,
    ...(thrown.retryAfterMs !== undefined && { retryAfterMs: thrown.retryAfterMs }),
    ...(thrown.status !== undefined && { status: thrown.status }),
  };
}
