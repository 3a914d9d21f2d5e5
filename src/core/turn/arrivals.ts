import { Stopped } from '../runtime/guard.ts';
import type { Arrival } from '../runtime/inbox.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { isA } from '../values/errors.ts';
import { deepFreeze } from '../values/json.ts';
import type { UserMessage } from '../values/message.ts';
import { append, type Transcript } from './transcript.ts';

type InboxKey = OnceKey<readonly Arrival[]>;

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
  if (run.inbox.isEmpty && !run.journal.isResumed) return NOTHING;
  const key = inboxKey(transcript);
  const arrivals = run.journal.recallOnce(key) ?? live(run, transcript, key, next);
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
  if (!run.inbox.has(self.path) || run.journal.has(next) || run.stops.at(self.path) !== undefined) return [];
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
export function mustGoOn(run: RunContext, transcript: Transcript): boolean | Promise<boolean> {
  const { self } = transcript;
  const { journal, inbox } = run;
  const { workers } = self;
  if (inbox.isEmpty && !journal.isResumed && workers === undefined) return false;
  if (journal.has(inboxKey(transcript))) return true;
  // It ended, or was about to, without: what came since came too late. A stop may have met it on its way.
  if (journal.recall('agent', self.path) !== undefined) return wentOn(run, self);
  if (journal.has(`${self.path}/${self.step}/@repair`)) return false;
  if (workers?.isOpen) return workers.settled().then(() => true);
  return inbox.has(self.path) && run.stops.at(self.path) === undefined;
}

/** Whether the records tell of more after the step at hand: another one, or the limit that kept it from that. */
export function wentOn({ journal }: RunContext, { path, step }: Invocation): boolean {
  const at = `${path}/${step}`;
  return journal.has(`${path}/${step + 1}`) || journal.has(`${at}/@limit`) || journal.has(`${at}/@wrapup`);
}

/** Where it is recorded what came before the next step. */
function inboxKey({ self }: Transcript): InboxKey {
  return `${self.path}/${self.step + 1}/@inbox`;
}
