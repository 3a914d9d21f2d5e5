import { type ErrorRecord, isA, ModelError, messageOf } from './errors.ts';
import { deepFreeze, type Json } from './json.ts';
import type { AssistantPart } from './message.ts';
import type { ModelDelta, ModelTurn } from './model.ts';
import { checkStop, isStopReason, STOP_REASONS } from './stop-reason.ts';
import { type CallUsage, usageFault } from './usage.ts';

/**
 * What a model returned, checked, copied and frozen: a model may be anybody's code, so each member is read once. A turn that
 * must not be acted on is a ModelError, also where a call in it is whole: truncated, filtered, refused, malformed, usage that
 * cannot be counted. A truncated text is a turn with `stop: 'length'`.
 */
export function checkTurn(turn: unknown, step: number): ModelTurn {
  const read = isRecord(turn) ? turn : NOTHING;
  const { content: parts, stop, usage: reported, native, response: given, by: author, costUsd: cost } = read;
  if (!Array.isArray(parts)) throw malformed('a turn has content, an array of parts');
  if (!isStopReason(stop)) throw malformed(`stop is ${STOP_REASONS.slice(0, -1).join(', ')} or ${STOP_REASONS.at(-1)}`);
  const ids = new Set<string>();
  const content: AssistantPart[] = [];
  for (let index = 0; index < parts.length; index += 1) content.push(checkPart(parts[index], index, step, ids));
  const usage = reported === undefined ? undefined : checkUsage(reported);
  const response = checkResponse(given);
  const by = checkAuthor(author);
  const costUsd = cost === undefined ? undefined : checkCost(cost);
  return Object.freeze({
    content: Object.freeze(content),
    stop: checkStop(stop, content, ids.size > 0, usage),
    ...(usage !== undefined && { usage }),
    ...(native !== undefined && { native: deepFreeze(native as Json) }),
    ...(response !== undefined && { response }),
    ...(by !== undefined && { by }),
    ...(costUsd !== undefined && { costUsd }),
  });
}

const NOTHING: Record<string, unknown> = Object.freeze({});

function checkUsage(reported: unknown): CallUsage {
  if (!isRecord(reported)) throw malformed('usage: expected an object');
  const usage = Object.freeze({ ...reported }) as unknown as CallUsage;
  const fault = usageFault(usage);
  if (fault !== undefined) throw malformed(fault);
  return usage;
}

function checkCost(cost: unknown): number {
  if (typeof cost === 'number' && Number.isFinite(cost) && cost >= 0) return cost;
  throw malformed('costUsd is a finite number ≥ 0');
}

/** What the provider says of its answer: kept where it is text. */
function checkResponse(response: unknown): ModelTurn['response'] {
  if (!isRecord(response)) return undefined;
  const { id, model } = response;
  return Object.freeze({ ...(typeof id === 'string' && { id }), ...(typeof model === 'string' && { model }) });
}

/** Whose turn it is, where another model gave it than the one that was asked. */
function checkAuthor(by: unknown): ModelTurn['by'] {
  if (!isRecord(by)) return undefined;
  const { provider, id } = by;
  return typeof provider === 'string' && typeof id === 'string' ? Object.freeze({ provider, id }) : undefined;
}

function checkPart(part: unknown, index: number, step: number, ids: Set<string>): AssistantPart {
  const { type, text, id, name, arguments: args } = isRecord(part) ? part : NOTHING;
  if (type === 'text' && typeof text === 'string') return Object.freeze({ type, text });
  if (type === 'reasoning') return Object.freeze(typeof text === 'string' ? { type, text } : { type });
  if (type === 'tool_call' && typeof name === 'string' && typeof args === 'string')
    return Object.freeze({ type, id: freshId(id, step, index, ids), name, arguments: args });
  throw malformed(
    `content[${index}] is text { text }, reasoning { text? } or tool_call { id, name, arguments: JSON text }`,
  );
}

/** The id that was given, or another where it is missing or was there before: a result answers one call. */
function freshId(given: unknown, step: number, index: number, ids: Set<string>): string {
  let id = typeof given === 'string' ? given : '';
  for (let more = 0; id === '' || ids.has(id); more += 1)
    id = more === 0 ? `call_${step}_${index}` : `call_${step}_${index}_${more}`;
  ids.add(id);
  return id;
}

/** A piece of a stream, copied; undefined where it is none. It is only shown, so a wrong one is left out. */
export function checkDelta(delta: unknown): ModelDelta | undefined {
  const { type, text, index, id, name, arguments: args } = isRecord(delta) ? delta : NOTHING;
  if ((type === 'text' || type === 'reasoning') && typeof text === 'string') return Object.freeze({ type, text });
  if (type !== 'tool_call' || typeof index !== 'number') return undefined;
  return Object.freeze({
    type,
    index,
    ...(typeof id === 'string' && { id }),
    ...(typeof name === 'string' && { name }),
    ...(typeof args === 'string' && { arguments: args }),
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function malformed(expected: string): ModelError {
  return new ModelError('malformed_response', `malformed response: ${expected}`);
}

/** What a model threw, as an error to record. What is no ModelError is unknown and never retried. */
export function modelFailure(thrown: unknown): ErrorRecord {
  const message = messageOf(thrown).slice(0, 1_000);
  try {
    if (isA(thrown, ModelError)) {
      const { kind, retryable, retryAfterMs, status, usage } = thrown;
      return {
        kind: String(kind),
        message,
        retryable: retryable === true,
        ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
        ...(typeof status === 'number' && { status }),
        ...(isRecord(usage) && usageFault(usage) === undefined && { usage }),
      };
    }
  } catch {
    // Its members throw when they are read: it says nothing.
  }
  return { kind: 'unknown', message, retryable: false };
}
