import type { ModelTurn } from '../../core/values/model.ts';

/** One server-sent event: its name, where the protocol has names, and its data. */
export interface WireEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** How a protocol writes a turn: as one body, or as the events of a stream. */
export interface Wire {
  body(turn: ModelTurn, about: About): unknown;
  events(turn: ModelTurn, about: About): WireEvent[];
  error(error: WireError): unknown;
}

export interface About {
  /** Counts from 1. */
  readonly number: number;
  readonly model: string;
}

export interface WireError {
  readonly status: number;
  /** The provider's word for it. */
  readonly type: string;
  readonly code: string;
  readonly message: string;
}

/** Text as a stream brings it: word by word. */
export function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === '' ? [] : [text]);
}

/** Arguments as a stream brings them: without regard for words. */
export function slices(text: string, size = 8): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size));
  return parts.length === 0 ? [''] : parts;
}

/** An answer with its circumstances. */
export interface FakeExchange {
  readonly turn?: ModelTurn | string | undefined;
  /** Instead of a turn: this status … */
  readonly status?: number | undefined;
  /** … with this body: JSON, or text as it is. */
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Before the first byte, in milliseconds. */
  readonly delayMs?: number | undefined;
  /** Between two events of a stream, in milliseconds. */
  readonly pauseMs?: number | undefined;
  /** Breaks the connection after so many events of a stream; of a whole answer, in the middle of its body. */
  readonly disconnectAfter?: number | undefined;
  /** Falls silent after so many events of a stream and leaves the connection open. */
  readonly silentAfter?: number | undefined;
}
