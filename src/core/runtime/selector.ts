import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';

/** What of a transcript is sent: one selector per invocation. The transcript only grows between calls. */
export interface Selector {
  /** What to send now. With `recorded` it is what was sent when the call was made before, whatever the ruler says now. */
  select(transcript: readonly Message[], recorded?: SentWindow): Selection;
  /**
   * The first `count` messages were compacted before this invocation: `messages` replace them. Called before the first call; messages
   * that cannot replace them are ignored.
   */
  begin(transcript: readonly Message[], messages: readonly Message[], count: number): void;
  /** What would be sent now. */
  list(transcript: readonly Message[]): Message[];
  /** What must be compacted before the next call; undefined where nothing need be, or nothing can be, or it would not pay. */
  due(transcript: readonly Message[], compaction: Compaction): Due | undefined;
  /** What is due as a request to a model: what was sent until now, and what it is asked for at the end. */
  request(transcript: readonly Message[], due: Due, asked: Message): Sendable;
  /** Replaces what was due by messages. Undefined, and nothing has changed, where they are not shorter. */
  replace(transcript: readonly Message[], due: Due, messages: readonly Message[]): Replaced | undefined;
  /** Nothing is compacted from here on: the transcript is used as it is, as long as it fits. */
  giveUp(cause: string): void;
  /** The provider found the last selection too long, whatever the ruler said. False where nothing may be dropped or compacted. */
  shorten(transcript: readonly Message[]): boolean;
  /** The input tokens that the provider reported for the last selection. */
  anchor(inputTokens: number): void;
  /** The transcript is complete, and a conversation may continue from it. */
  close(transcript: readonly Message[], label: Label): void;
}

/** Options of the selector of one transcript. Sizes are in tokens. */
export interface SelectorOptions {
  /** The whole window. */
  readonly maxTokens: number;
  /** Instructions and tool definitions. */
  readonly fixedTokens: number;
  /**
   * Tokens for the answer. It counts as a quarter of the window at most: a model whose longest answer is as long as its window
   * could otherwise never be called.
   */
  readonly reserveTokens: number;
  /** True if the caller compacts messages that are due; otherwise messages that do not fit are dropped. */
  readonly compacts?: boolean | undefined;
  /** Leading messages that were measured before, and the sum of their bounds. */
  readonly measured?: { readonly count: number; readonly bound: number } | undefined;
}

/** How a recorded call was sent: `boundary` is where its tail began, absent where nothing was dropped or compacted for it. */
export interface SentWindow {
  readonly boundary: number | undefined;
}

/** A list of messages to send. Token counts are of instructions, tool definitions and messages, without the reserve. */
export interface Sendable {
  readonly ok: true;
  /** A list of its own at each call. */
  readonly messages: Message[];
  /** Leading entries that were also those of the request before; 0 at the first. */
  readonly from: number;
  /** How many messages this call dropped. */
  readonly dropped: number;
  /** Index in the transcript at which the tail begins that is sent whole. */
  readonly boundary: number;
  /** An upper bound where the trigger was not near. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** What to send, or why nothing can be sent. */
export type Selection =
  | Sendable
  /** What must stay, the fixed part and the reserve need more than the window has: `context_limit`. */
  | {
      readonly ok: false;
      readonly needed: number;
      readonly available: number;
      /** Why nothing was compacted. */
      readonly cause: string | undefined;
    };

/** How an invocation's transcript is compacted. */
export interface Compaction {
  /** The window of the model that is asked to summarise; absent where none is. */
  readonly window?: number | undefined;
  /** What it is asked for takes so many tokens. */
  readonly asked?: number | undefined;
  /** Compacted when the call was made before, so that it is due again; `boundary` where it came to that. */
  readonly recorded?: SentWindow | undefined;
}

/** What is to be compacted. */
export interface Due {
  /** In the order in which they are sent: summaries of earlier messages, and whole groups. */
  readonly covered: readonly Message[];
  /** Of what is covered. */
  readonly tokens: number;
  /** Tokens that should do in its place. */
  readonly room: number;
  /** Of the whole request. */
  readonly tokensBefore: number;
  /** Index in the transcript: all before it is covered, but for what stays. */
  readonly boundary: number;
  /** Whether a request for a summary holds all that was sent until now, or ends at the boundary. */
  readonly isWhole: boolean;
}

/** What a replacement changed. */
export interface Replaced {
  readonly dropped: number;
  readonly boundary: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}
