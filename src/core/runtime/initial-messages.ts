import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';

/** The messages that an invocation of a model begins with. */
export interface InitialMessages {
  readonly brief: readonly Message[];
  /** The transcript of an earlier run that the brief begins with, where this process still has it. */
  readonly cached?: CachedTranscript | undefined;
}

/** A transcript with which a run of this process ended: it is frozen, its calls are paired, and its label and size are known. */
export interface CachedTranscript {
  readonly messages: readonly Message[];
  /** The join of its messages. */
  readonly label: Label;
  /** The upper bound of its tokens, if the ruler needed no estimate. */
  readonly bound: number | undefined;
}
