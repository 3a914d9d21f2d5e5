import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';

/** What of a transcript is sent: one selector per invocation. The transcript only grows between calls. */
export interface Selector {
  /** What to send now. With `past` it is what was sent when the call was made before, whatever the ruler says now. */
  select(transcript: readonly Message[], past?: SentWindow): Selection;
  /**
   * The first `count` messages were compacted before this invocation: `messages` stand for them. Told before the first call; what
   * cannot stand for them is passed over.
   */
  begin(transcript: readonly Message[], messages: readonly Message[], count: number): void;
  /** What would be sent now. */
  list(transcript: readonly Message[]): Message[];
  /** What must be compacted before the next call; undefined where nothing need be, or nothing can be, or it would not pay. */
  due(transcript: readonly Message[], compaction: Compaction): Due | undefined;
  /** What is due as a request to a model: what was sent until now, and what it is asked for at the end. */
  request(transcript: readonly Message[], due: Due, asked: Message): Sendable;
  /** Puts messages in the place of what was due. Undefined, and nothing has changed, where they are not shorter. */
  replace(transcript: readonly Message[], due: Due, messages: readonly Message[]): Replaced | undefined;
  /** Nothing is compacted from here on: the transcript goes on as it is, as long as it fits. */
  giveUp(cause: string): void;
  /** The provider found the last selection too long, whatever the ruler said. False where nothing may be cut. */
  shorten(transcript: readonly Message[]): boolean;
  /** The input tokens that the provider reported for the last selection. */
  anchor(inputTokens: number): void;
  /** The transcript is complete, and a conversation may go on from it. */
  close(transcript: readonly Message[], label: Label): void;
}

/** How a call was sent that is on record: `cut` is where its tail began, absent where nothing was cut for it. */
export interface SentWindow {
  readonly cut: number | undefined;
}

/** A list of messages to send. Token counts are of instructions, tool definitions and messages, without the reserve. */
export interface Sendable {
  readonly ok: true;
  /** A list of its own at each call. */
  readonly messages: Message[];
  /** Leading entries that were also those of the request before; 0 at the first. */
  readonly from: number;
  /** Messages that this call cut; 0 where it cut none. */
  readonly dropped: number;
  /** Index in the transcript at which the tail begins that is sent whole. */
  readonly cut: number;
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

/** What is known of the way in which an invocation's transcript is compacted. */
export interface Compaction {
  /** The window of the model that is asked to summarise; absent where none is. */
  readonly window?: number | undefined;
  /** What it is asked for takes so many tokens. */
  readonly asked?: number | undefined;
  /** Compacted when the call was made before, so that it is due again; `cut` where it came to that. */
  readonly past?: SentWindow | undefined;
}

/** What is to be compacted. */
export interface Due {
  /** In the order in which they are sent: what stands for earlier messages, and whole groups. */
  readonly covered: readonly Message[];
  /** Of what is covered. */
  readonly tokens: number;
  /** Tokens that should do in its place. */
  readonly room: number;
  /** Of the whole request. */
  readonly tokensBefore: number;
  /** Index in the transcript: all before it is covered, but for what stays. */
  readonly cut: number;
  /** Whether a request for a summary holds all that was sent until now, or ends at the cut. */
  readonly isWhole: boolean;
}

/** What became of it. */
export interface Replaced {
  readonly dropped: number;
  readonly cut: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}
