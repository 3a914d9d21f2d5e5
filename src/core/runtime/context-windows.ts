import type { WorkingSummary } from '../contract/working-summary.ts';
import type { Message } from '../values/message.ts';
import type { Selector } from './selector.ts';

/** Options of the selector of one transcript. */
export interface SelectorOptions {
  readonly maxTokens: number;
  readonly fixedTokens: number;
  readonly reserveTokens: number;
  /** True where the loop compacts what no longer fits; else it is dropped. */
  readonly compacts?: boolean | undefined;
  readonly measured?: { readonly count: number; readonly bound: number } | undefined;
}

/** Keeps transcripts within the windows of their models. */
export interface ContextWindows {
  selector(options: SelectorOptions): Selector;
  /** The messages that a compactor returned for `covered`, checked and labelled. Throws where they cannot be sent. */
  readCompacted(covered: readonly Message[], given: unknown): readonly Message[];
  /** What a store of conversations returned, checked and labelled. Throws where it is no summary. */
  readSummary(given: unknown): WorkingSummary;
  /** Estimated tokens of a text. */
  estimate(text: string): number;
}
