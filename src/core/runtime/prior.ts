import type { ErrorRecord } from '../values/errors.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import type { Stop } from '../values/status.ts';
import type { Cancellation } from './cancellation.ts';
import type { Invocation } from './invocation.ts';
import type { Journal } from './journal.ts';
import { isEndOf, type Stops } from './stops.ts';
import { endError, type Kind, type OnceKey } from './stored-entry.ts';

/*
 * What an earlier process decided, by address. Loops, turns and calls ask only here about a resume or a replay; in a run that
 * begins now every answer is that of an address without records.
 */

interface WithJournal {
  readonly journal: Journal;
}

/** Kinds of which an end may have an error. */
type Endable = 'agent' | 'tool' | 'wait' | 'sleep';

/** Whether there are records of an earlier process at all. */
export function hasRecords(run: WithJournal): boolean {
  return run.journal.isResumed;
}

/** Whether anything is recorded at an address. */
export function isRecorded(run: WithJournal, key: string): boolean {
  return run.journal.has(key);
}

/** Whether a call, an agent or a wait has a recorded start. */
export function hasStarted(run: WithJournal, kind: Kind, key: string): boolean {
  return run.journal.recallStart(kind, key) !== undefined;
}

/** Whether a call, an agent or a wait has a recorded end. */
export function hasEnded(run: WithJournal, kind: Kind, key: string): boolean {
  return run.journal.recall(kind, key) !== undefined;
}

/** The value that was decided once at an address. */
export function recordedValue<T>(run: WithJournal, key: OnceKey<T>): T | undefined {
  return run.journal.recallOnce(key);
}

/** The error with which something ended. */
export function recordedError(run: WithJournal, kind: Endable, key: string): ErrorRecord | undefined {
  return endError(run.journal.recall(kind, key));
}

/**
 * Whether a stop interrupted what is at an address: undefined where that has no recorded end. What ended otherwise ended before
 * the stop came.
 */
export function wasInterrupted(run: WithJournal, kind: Endable, key: string, stop: Stop): boolean | undefined {
  const end = run.journal.recall(kind, key);
  return end && isEndOf(stop, endError(end));
}

/** Whether the code of an agent ran before. It did not where a stop came before its start. */
export function hasRunCode(run: WithJournal, path: string): boolean {
  return run.journal.hasBegun(path);
}

/** In a replay whose records end here: the stop that ends it. No step begins. */
export function endOfReplay(
  run: WithJournal & { readonly isReplay: boolean; readonly cancellation: Cancellation },
  { path, step }: Invocation,
): Stop | undefined {
  if (!run.isReplay) return undefined;
  const next = `${path}/${step + 1}`;
  return isRecorded(run, next) ? undefined : run.cancellation.endsBefore(`${next}/model`);
}

/** The stop that ends an invocation after a step. Where the records show more after the step, the stop came later. */
export function stopAfterStep(run: WithJournal & { readonly stops: Stops }, self: Invocation): Stop | undefined {
  const stop = run.stops.at(self.path);
  if (stop === undefined || !run.journal.isResumed) return stop;
  const cameLater = continuedAfterStep(run, self) || wasInterrupted(run, 'agent', self.path, stop) === false;
  return cameLater ? undefined : stop;
}

/** Whether the records show more after the step: the next one, or the limit that prevented it. */
function continuedAfterStep(run: WithJournal, { path, step }: Invocation): boolean {
  const at = `${path}/${step}`;
  return isRecorded(run, `${path}/${step + 1}`) || isRecorded(run, `${at}/@limit`) || isRecorded(run, `${at}/@wrapup`);
}

/**
 * Whether the invocation continued after the answer of the step: undefined where the records end before that. What came for it
 * after it ended, or was about to, came too late; a stop may have ended it in between.
 */
export function continuedAfterAnswer(run: WithJournal, self: Invocation): boolean | undefined {
  if (!run.journal.isResumed) return undefined;
  if (isRecorded(run, `${self.path}/${self.step + 1}/@inbox`)) return true;
  if (hasEnded(run, 'agent', self.path)) return continuedAfterStep(run, self);
  return isRecorded(run, `${self.path}/${self.step}/@repair`) ? false : undefined;
}

/** Whether the permission step has judged a call: it has an outcome, or it is replayed and had started. */
export function wasJudged(run: WithJournal & { readonly isReplay: boolean }, key: string): boolean {
  return hasEnded(run, 'tool', key) || (run.isReplay && hasStarted(run, 'tool', key));
}

/** A tool call of which something is recorded. */
export interface PriorCall {
  /** Why it did not run. The model has read this, so it holds also where the call would be allowed now. */
  readonly refused: ErrorRecord | undefined;
  readonly hasStarted: boolean;
  /** The arguments that were asked for: a person may have let it run with others. */
  readonly args: Json | undefined;
}

export function priorCall(run: WithJournal, key: string): PriorCall | undefined {
  if (!hasRecords(run) || !hasFixedArguments(run, key)) return undefined;
  const end = run.journal.recall('tool', key)?.value;
  const start = run.journal.recallStart('tool', key);
  const asked = run.journal.recallStart('wait', `${key}/@approval`)?.request ?? start?.request;
  const args = asked !== undefined && 'args' in asked ? asked.args : undefined;
  return {
    refused: end !== undefined && 'ran' in end && end.ran === false ? end.error : undefined,
    hasStarted: start !== undefined,
    args: args === undefined ? undefined : deepFreeze(args),
  };
}

/** Whether the arguments of a call were shown to a person, or it has started with them: nothing may change them now. */
export function hasFixedArguments(run: WithJournal, key: string): boolean {
  return isRecorded(run, key) || isRecorded(run, `${key}/@approval`);
}

/** The arguments with which a call started. */
export function startedArguments(run: WithJournal, key: string): Json | undefined {
  const args = run.journal.recallStart('tool', key)?.request.args;
  return args === undefined ? undefined : deepFreeze(args);
}

/** True where no hooks were asked at an address, and what they come before or after is recorded: none are asked now. */
export function passedWithoutHooks(
  run: WithJournal & { readonly isReplay: boolean },
  at: string,
  isPast: boolean,
): boolean {
  return run.journal.isResumed && !isRecorded(run, at) && (isPast || run.isReplay);
}

/** The limit that was reached at an address, or null where `admitted` shows that none was; undefined where neither is recorded. */
export function recordedLimit<Which extends 'steps' | 'toolCalls'>(
  run: WithJournal,
  which: Which,
  at: string,
  admitted: string,
): { readonly limit: Which; readonly used: number; readonly max: number } | null | undefined {
  if (!hasRecords(run)) return undefined;
  const limit = run.journal.recall('limit', `${at}/@limit`)?.value;
  if (limit?.limit === which) return { ...limit, limit: which };
  return isRecorded(run, admitted) ? null : undefined;
}

/** Where the window began when a call was sent before; undefined where nothing was dropped or compacted for it. */
export function recordedBoundary(run: WithJournal, window: string): number | undefined {
  return run.journal.recall('context', window)?.value.cut;
}
