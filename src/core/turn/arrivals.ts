import { Stopped } from '../runtime/guard.ts';
import type { Arrival } from '../runtime/inbox.ts';
import { continuedAfterAnswer, isRecorded, recordedValue } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { isA } from '../values/errors.ts';
import { deepFreeze } from '../values/json.ts';
import type { UserMessage } from '../values/message.ts';
import { append, type Transcript } from './transcript.ts';

type InboxKey = OnceKey<readonly Arrival[]>;

/** Whether an address is that of what entered a transcript. */
export function isInboxKey(key: string): key is InboxKey {
  return key.endsWith('/@inbox');
}

const NOTHING: readonly UserMessage[] = Object.freeze([]);

/**
 * A step boundary: what came for the node since its last step enters its transcript. What that is depends on timing, so it is
 * recorded; `next` is the address of the model call that follows: where that is recorded and nothing stands before it, nothing
 * came. Gives what entered.
 */
export function enter(
  run: RunContext,
  transcript: Transcript,
  next: string,
): readonly UserMessage[] | Promise<readonly UserMessage[]> {
  const { path, step } = transcript.self;
  const key: InboxKey = `${path}/${step + 1}/@inbox`;
  const arrivals = recordedValue(run, key) ?? live(run, transcript, key, next);
  return arrivals.length === 0 ? NOTHING : add(transcript, arrivals);
}

async function add(transcript: Transcript, arrivals: readonly Arrival[]): Promise<readonly UserMessage[]> {
  const { workers } = transcript.self;
  const messages: UserMessage[] = [];
  for (const arrival of arrivals) {
    // A worker's result stands in its own records.
    const message = 'message' in arrival ? deepFreeze(arrival.message) : await workers?.message(arrival.worker);
    if (message === undefined) continue;
    messages.push(message);
    append(transcript, message);
  }
  return messages;
}

function live(run: RunContext, { self }: Transcript, key: InboxKey, next: string): readonly Arrival[] {
  // A stop ends the node: what came is for the resume, where there is one.
  if (!run.inbox.has(self.path) || isRecorded(run, next) || run.stops.at(self.path) !== undefined) return [];
  try {
    return run.journal.once(key, self, () => run.inbox.take(self.path));
  } catch (thrown) {
    // A replay has come to where the records end: the next call ends it.
    if (isA(thrown, Stopped)) return [];
    throw thrown;
  }
}

/**
 * Whether a node that is about to end with an answer has something to read first. With workers that run, or whose results it has
 * not seen, it has: those are waited for.
 */
export async function mustContinue(run: RunContext, { self }: Transcript): Promise<boolean> {
  const recorded = continuedAfterAnswer(run, self);
  if (recorded !== undefined) return recorded;
  if (self.workers?.isOpen) {
    await self.workers.settled();
    return true;
  }
  return run.inbox.has(self.path) && run.stops.at(self.path) === undefined;
}
