import type { CachedTranscript } from '../core/runtime/initial-messages.ts';
import type { Message } from '../core/values/message.ts';

/** By the last message, which belongs to one transcript alone. */
const cache = new WeakMap<object, CachedTranscript>();

/** Shorter ones cost less to read again than to cache. */
const WORTH_IT = 16;

/** How many messages a caller may have added for the cache still to match. */
const ADDED = 4;

export function rememberTranscript(transcript: CachedTranscript): void {
  const last = transcript.messages.at(-1);
  if (last !== undefined && transcript.messages.length >= WORTH_IT) cache.set(last, transcript);
}

/** The cached transcript that a list begins with: a continued conversation costs one comparison of pointers per message. */
export function cachedPrefix(list: readonly unknown[]): CachedTranscript | undefined {
  for (let end = list.length; end > 0 && end >= list.length - ADDED; end -= 1) {
    const last = list[end - 1];
    const transcript = typeof last === 'object' && last !== null ? cache.get(last) : undefined;
    if (transcript !== undefined && isPrefix(transcript.messages, list, end)) return transcript;
  }
  return undefined;
}

function isPrefix(messages: readonly Message[], list: readonly unknown[], end: number): boolean {
  if (messages.length !== end) return false;
  for (let index = 0; index < end; index += 1) if (messages[index] !== list[index]) return false;
  return true;
}
