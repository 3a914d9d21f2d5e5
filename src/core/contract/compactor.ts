import type { InputMessage, Message } from '../values/message.ts';
import type { Model } from '../values/model.ts';

/** What a {@link Compactor} is given beside the messages. */
export interface CompactContext {
  /** Tokens of the messages that are to be compacted, by the window's ruler. */
  readonly tokens: number;
  /** Tokens that should do in their place. */
  readonly room: number;
  /** The ruler: tokens of a text. */
  readonly estimate: (text: string) => number;
  readonly agent: string;
  readonly path: string;
  readonly step: number;
  /** Aborted when the invocation is stopped. A compactor that has not resolved after 60 s has failed. */
  readonly signal: AbortSignal;
}

/**
 * Your own way to compact: given the messages that are to leave the window (what it gave before, then whole groups), it gives
 * those that stand in their place. It may keep some as they are, shorten or leave out others, and write new ones; each call must
 * have its result. What it gives is recorded, so it runs once for each compaction, also across a resume.
 *
 * Labels are kept or worsened: a message that is passed on as it is keeps its own, any other carries the join of all that was
 * given. A model that is called in here would have no record and no budget: use `{ summarize: { model } }` for that.
 *
 * @example
 * const compact: Compactor = (messages) => messages.filter(({ role }) => role === 'user');
 */
export type Compactor = (
  messages: readonly Message[],
  context: CompactContext,
) => readonly InputMessage[] | Promise<readonly InputMessage[]>;

/** A summary by a model of choice, or with instructions of your own. */
export interface Summarize {
  readonly summarize: {
    /** Default: the model that drives the agent, which has the conversation in its cache. */
    readonly model?: Model | undefined;
    /** What the summary must keep; default: the task and what holds, what was done, found and failed, what is open. */
    readonly instructions?: string | undefined;
  };
}

/** What is done with what no longer fits into the window. */
export type Compact = 'drop' | 'summarize' | Summarize | Compactor;
