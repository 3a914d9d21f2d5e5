import type { InputMessage, Message } from '../values/message.ts';
import type { AgentContext } from './agent.ts';

/** A conversation so far: the messages that a model would be sent of it now. */
export interface WorkingSummary {
  /** The first message, pinned ones, a summary where there is one, the newest messages. */
  readonly messages: readonly Message[];
  /** How many messages of the whole conversation these stand for. */
  readonly covers: number;
  /** The hash of those: a conversation that begins with them continues from here. */
  readonly hash: string;
}

/**
 * The port to where conversations are kept between runs. `workingSummaries` of `coxswain/memory` is one in SQLite; a table of
 * your own does as well.
 */
export interface SummaryStore {
  /** What was saved last under this id. Messages without a label count as untrusted. */
  load(conversation: string, signal: AbortSignal): Promise<SavedSummary | undefined> | SavedSummary | undefined;
  /** Replaces what was saved before: it is plain JSON. */
  save(conversation: string, summary: WorkingSummary, signal: AbortSignal): Promise<unknown> | unknown;
}

/** A {@link WorkingSummary} as a store gives it back. */
export interface SavedSummary {
  readonly messages: readonly InputMessage[];
  readonly covers: number;
  readonly hash: string;
}

/** The conversation that an agent's invocations continue. */
export interface ConversationOptions<Deps = never> {
  readonly store: SummaryStore;
  /** Names the conversation; a function is asked once an invocation. */
  readonly id: string | ((context: AgentContext<Deps>) => string);
}
