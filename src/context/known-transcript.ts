import type { Label } from '../core/values/label.ts';
import type { Message } from '../core/values/message.ts';

/** What is known of a transcript that a run of this process ended with: it is frozen, paired, labelled and measured. */
export interface KnownTranscript {
  readonly messages: readonly Message[];
  /** The join of its messages. */
  readonly label: Label;
  /** The upper bound of its tokens, where the ruler needed no more. */
  readonly bound: number | undefined;
}

/** By the last message: it is an object of one transcript. */
const known = new WeakMap<object, KnownTranscript>();

/** Shorter ones cost less to read again than to remember. */
const WORTH_IT = 16;

/** How many messages a caller may have added and still find what is known. */
const ADDED = 4;

export function rememberTranscript(transcript: KnownTranscript): void {
  const last = transcript.messages.at(-1);
  if (last !== undefined && transcript.messages.length >= WORTH_IT) known.set(last, transcript);
}

/** The known transcript that a list begins with: a conversation that goes on costs one comparison of pointers a message. */
export function knownPrefix(list: readonly unknown[]): KnownTranscript | undefined {
  for (let end = list.length; end > 0 && end >= list.length - ADDED; end -= 1) {
    const last = list[end - 1];
    const transcript = typeof last === 'object' && last !== null ? known.get(last) : undefined;
    if (transcript !== undefined && isPrefix(transcript.messages, list, end)) return transcript;
  }
  return undefined;
}

function isPrefix(messages: readonly Message[], list: readonly unknown[], end: number): boolean {
  if (messages.length !== end) return false;
  for (let index = 0; index < end; index += 1) if (messages[index] !== list[index]) return false;
  return true;
}
