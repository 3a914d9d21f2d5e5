import type { ModelAgent } from '../contract/agent.ts';
import type { Compactor } from '../contract/compactor.ts';
import type { ContextNote } from '../contract/record.ts';
import { envelope } from '../runtime/envelope.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Failure, Outcome } from '../runtime/journal.ts';
import { isRecorded, recordedBoundary } from '../runtime/prior.ts';
import { recordOnce } from '../runtime/record-once.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Due, Replaced, SentWindow } from '../runtime/selector.ts';
import { besideAgain } from '../values/address.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import type { Message } from '../values/message.ts';
import { saveConversation } from './conversation.ts';
import type { Question } from './question.ts';
import { summarise, summariserOf, summaryRequest, windowOf } from './summarise.ts';
import type { Transcript } from './transcript.ts';

/** How the transcript of an invocation is compacted, where what does not fit is not dropped. */
export interface Compacting {
  readonly how: 'summarize' | 'custom';
  /** The window of the model that is asked, and the tokens of what it is asked for. */
  readonly window: number | undefined;
  readonly asked: number;
  /** The messages that replace what is due. */
  readonly make: (transcript: Transcript, key: string, due: Due) => Promise<Outcome<readonly Message[]>>;
}

/** A bound on the room of a summary, for an estimate of what asking for it takes. */
const MUCH = 10_000;

export function compactingOf(
  run: RunContext,
  { context }: ModelAgent,
  question: Question,
  maxTokens: number,
): Compacting | undefined {
  const { compact = 'drop' } = context;
  if (compact === 'drop') return undefined;
  if (typeof compact === 'function') {
    const make: Compacting['make'] = (transcript, key, due) => custom(run, transcript, compact, key, due);
    return { how: 'custom', window: undefined, asked: 0, make };
  }
  const summariser = summariserOf(question, compact === 'summarize' ? {} : compact.summarize);
  const asked = run.context.estimate(String(summaryRequest(summariser, MUCH).content));
  const make: Compacting['make'] = (transcript, key, due) => summarise(run, transcript, summariser, key, due);
  return { how: 'summarize', window: windowOf(run, summariser, maxTokens), asked, make };
}

/** What must be compacted before a call. A call that is on record was sent as it was: with what was compacted for it, or without. */
export function dueBefore(run: RunContext, transcript: Transcript, key: string, round: number): Due | undefined {
  const { compacting, selector, messages } = transcript;
  if (compacting === undefined) return undefined;
  const { window, asked } = compacting;
  if (!run.journal.isDurable) return selector.due(messages, { window, asked });
  const wasDue = isRecorded(run, besideAgain(key, 'summary', round));
  if (!wasDue && isRecorded(run, key)) return undefined;
  return selector.due(messages, { window, asked, recorded: wasDue ? sentWindow(run, key, round) : undefined });
}

/** How a call was sent that is on record. */
export function sentBefore(run: RunContext, key: string): SentWindow | undefined {
  return run.journal.isDurable && isRecorded(run, key) ? sentWindow(run, key, 1) : undefined;
}

function sentWindow(run: RunContext, key: string, round: number): SentWindow {
  return { boundary: recordedBoundary(run, besideAgain(key, 'window', round)) };
}

/**
 * Compacts what is due before a call, in as many rounds as the summarising model's window asks for. There is one try: where it
 * fails, or gives nothing shorter, the transcript stays as it is, and is used as long as it fits. Gives what stopped it.
 */
export async function compact(
  run: RunContext,
  transcript: Transcript,
  key: string,
  first: Due,
): Promise<Failure | undefined> {
  const { self, selector, messages, compacting } = transcript;
  let due: Due | undefined = first;
  for (let round = 1; due !== undefined && compacting !== undefined; round += 1) {
    const made = await compacting.make(transcript, besideAgain(key, 'summary', round), due);
    if (!made.ok && made.stop !== undefined) return made;
    const replaced: Replaced | undefined = made.ok ? selector.replace(messages, due, made.value) : undefined;
    const tokens = { tokensBefore: due.tokensBefore, tokensAfter: due.tokensBefore };
    const error = made.ok ? NOT_SHORTER : made.error;
    const noted = replaced === undefined ? { dropped: 0, ...tokens, error } : noteOf(replaced);
    noteContext(run, self, besideAgain(key, 'window', round), { how: compacting.how, ...noted });
    if (replaced === undefined) selector.giveUp(`${error.kind}: ${error.message}`);
    else await saveConversation(run, transcript, besideAgain(key, 'conversation', round));
    due = replaced === undefined ? undefined : dueBefore(run, transcript, key, round + 1);
  }
  return undefined;
}

const NOT_SHORTER: ErrorRecord = Object.freeze({
  kind: 'context_limit',
  message: 'what was to stand in the place of earlier messages is no shorter than they are',
  retryable: false,
});

/** How a window changed, as it is recorded. */
export function noteOf({ boundary: cut, dropped, tokensBefore, tokensAfter }: Replaced): Omit<ContextNote, 'how'> {
  return { dropped, cut, tokensBefore, tokensAfter };
}

/** Notes what was done with the transcript before a call. */
export function noteContext(run: RunContext, self: Invocation, key: string, value: ContextNote): void {
  run.journal.note({ ...envelope(self, key), kind: 'context', event: 'done', value });
}

async function custom(
  run: RunContext,
  transcript: Transcript,
  compactor: Compactor,
  key: string,
  due: Due,
): Promise<Outcome<readonly Message[]>> {
  const { self } = transcript;
  const { covered, tokens, room } = due;
  const { agent, path, step } = self;
  const facts = { tokens, room, agent, path, step, estimate: (text: string) => run.context.estimate(text) };
  const outcome = await recordOnce(run, self, key, 'context.compact', async (signal) => {
    const given = await compactor(covered.slice(), { ...facts, signal });
    return run.context.readCompacted(covered, given) as unknown as Json;
  });
  return outcome.ok ? { ok: true, value: deepFreeze(outcome.value) as unknown as readonly Message[] } : outcome;
}
