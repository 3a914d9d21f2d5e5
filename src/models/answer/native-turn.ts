import { isPlainObject, type Json } from '../../core/values/json.ts';
import { type AssistantMessage, type ToolCall, toolCallsOf } from '../../core/values/message.ts';
import { type BodyFields, bodyFields } from '../failure/fields.ts';

/** Where a provider's own turn came from: it goes back there and nowhere else. */
export interface TurnOrigin {
  readonly api: 'chat' | 'responses' | 'messages';
  /** Host and port of the endpoint: signatures and encrypted thoughts of one are refused by another. */
  readonly endpoint: string;
  /** Set where the turn is of no use to another model of the same endpoint. */
  readonly model?: string | undefined;
}

/** The provider's own turn with its origin, as a transcript contains it. Everything in `turn` was parsed from JSON. */
export function nativeTurn({ api, endpoint, model }: TurnOrigin, turn: unknown): Json {
  return { api, endpoint, ...(model !== undefined && { model }), turn: turn as Json };
}

/**
 * The provider's own turn, where it came from here and its calls are still those of the message; else undefined, and the
 * neutral form is sent.
 */
export function nativeFor(
  { native, content }: AssistantMessage,
  provider: string,
  origin: TurnOrigin,
  idsOf: (turn: unknown) => readonly unknown[],
): unknown {
  if (native?.provider !== provider || !isPlainObject(native.turn)) return undefined;
  const { api, endpoint, model, turn }: BodyFields = bodyFields(native.turn);
  if (api !== origin.api || endpoint !== origin.endpoint || model !== origin.model) return undefined;
  return sameCalls(toolCallsOf(content), idsOf(turn)) ? turn : undefined;
}

function sameCalls(calls: readonly ToolCall[], ids: readonly unknown[]): boolean {
  return ids.length === calls.length && calls.every((call, index) => call.id === ids[index]);
}

/** The same value without lone surrogates; itself where there are none. */
export function wellFormed<T>(value: T): T {
  const text = JSON.stringify(value);
  return /\\ud[89a-f]/i.test(text)
    ? (JSON.parse(text, (_, item) => (typeof item === 'string' ? item.toWellFormed() : item)) as T)
    : value;
}
