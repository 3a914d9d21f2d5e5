import { Stopped } from '../runtime/guard.ts';
import type { Arrival } from '../runtime/inbox.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { continuedAfterAnswer, hasRecords, isRecorded, recordedValue } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { isA } from '../values/errors.ts';
import { deepFreeze } from '../values/json.ts';
import type { UserMessage } from '../values/message.ts';
import type { Transcript } from './transcript.ts';

type InboxKey = OnceKey<readonly Arrival[]>;

/** Whether an address is that of what entered a transcript. */
export function isInboxKey(key: string): key is InboxKey {
  return key.endsWith('/@inbox');
}

/**
 * What came for an invocation since its last step. That depends on timing, so it is recorded. `next` is the address of the model
 * call that follows: where that is recorded and no arrival is, nothing came.
 */
export function arrivalsBefore(run: RunContext, self: Invocation, next: string): readonly Arrival[] {
  if (run.inbox.isEmpty && !hasRecords(run)) return [];
  const { path, step } = self;
  const key: InboxKey = `${path}/${step + 1}/@inbox`;
  const recorded = recordedValue(run, key);
  if (recorded !== undefined) return recorded;
  // A stop ends the invocation: what came is for the resume, where there is one.
  if (!run.inbox.has(path) || isRecorded(run, next) || run.stops.at(path) !== undefined) return [];
  try {
    return run.journal.once(key, self, () => run.inbox.take(path));
  } catch (thrown) {
    // The records of a replay end here: the next call ends it.
    if (isA(thrown, Stopped)) return [];
    throw thrown;
  }
}

/** Appends what came to the transcript. Gives the messages. */
export async function enter(transcript: Transcript, arrivals: readonly Arrival[]): Promise<readonly UserMessage[]> {
  const { workers } = transcript.self;
  const messages: UserMessage[] = [];
  for (const arrival of arrivals) {
    // A worker's result is in its own records.
    const message = 'message' in arrival ? deepFreeze(arrival.message) : await workers?.message(arrival.worker);
    if (message === undefined) continue;
    messages.push(message);
    transcript.append(message);
  }
  return messages;
}

/**
 * Whether an invocation that is about to end with an answer has something to read first. Where workers of it run, or it has not
 * seen their results, it has: it waits for those.
 */
export async function mustContinue(run: RunContext, self: Invocation): Promise<boolean> {
  const recorded = continuedAfterAnswer(run, self);
  if (recorded !== undefined) return recorded;
  if (self.workers?.isOpen) {
    await self.workers.idle();
    return true;
  }
  return run.inbox.has(self.path) && run.stops.at(self.path) === undefined;
}
