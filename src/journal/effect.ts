import type { EffectKind, Span } from '../core/contract/record.ts';
import type { Call, Failure, Layer, Outcome, Work } from '../core/runtime/journal.ts';
import { stopped } from '../core/runtime/stops.ts';
import { failureOf } from '../core/runtime/stored-entry.ts';
import { DEFAULTS } from '../core/values/limits.ts';
import { retryDelay } from '../core/values/retry.ts';
import { changes } from './divergence.ts';
import type { RecordedCall } from './history.ts';
import { type JournalParts, whileBusy } from './journal-parts.ts';
import { type EndRow, readValue, type StartRow } from './read-row.ts';
import type { Recorder } from './recorder.ts';
import { RunningCall } from './running-call.ts';

/** replay → stop check → unknown outcome → ledger → retry → gate → limiter → `started` → execute → reconcile → outcome → views. */
export function effect<T>(parts: JournalParts, recorder: Recorder, call: Call<T>): Promise<Outcome<T>> {
  const { stops, history, isReplay } = parts;
  const recorded = history?.take(call.kind, call.key);
  if (recorded?.ended !== undefined) return Promise.resolve(replayed(parts, recorder, call, recorded, recorded.ended));
  if (isReplay) parts.cancellation.recordsEnd(call.key);
  const failed = recorded?.more?.findLast((row) => row.event === 'retry');
  if (failed !== undefined) call.resumeAfter?.(failed.value);
  const stop = stops.at(call.key);
  if (stop === undefined) return live(parts, recorder, call, recorded);
  const failure = interrupted(
    call,
    recorded?.interrupted === undefined ? stopped(stop) : { ok: false, error: failureOf(recorded.interrupted), stop },
  );
  recorder.neverStarted(call, failure);
  return Promise.resolve(failure);
}

/** One frame for all of a call's life: a run that is parked in its first call keeps little. */
async function live<T>(
  parts: JournalParts,
  recorder: Recorder,
  call: Call<T>,
  recorded: RecordedCall<EffectKind> | undefined,
): Promise<Outcome<T>> {
  const { stops, perCall, perAttempt, log } = parts;
  // Before the call counts as work: a person may be asked, and then the run may park.
  const resolved =
    recorded?.started === undefined ? undefined : await resolveUnknown(parts, recorder, call, recorded.started);
  if (resolved !== undefined) return resolved;
  const running = new RunningCall(call);
  const span: Span = { key: call.key, parent: call.parent, handle: undefined };
  const stop = recorded?.started && stops.at(call.key);
  if (stop !== undefined) return neverStarted(recorder, call, interrupted(call, stopped(stop)));
  stops.enter(running);
  parts.activity.busy(call.self, 1);
  try {
    const before = recorded?.attempt ?? 0;
    /** When it was queued, where it had to be. */
    let queued: number | undefined;
    for (const layer of perCall) {
      const refused = layer.enter?.(call as Call<never>, running);
      if (refused instanceof Promise) queued ??= performance.now();
      const given = refused instanceof Promise ? await refused : refused;
      if (given === undefined) continue;
      const failure = interrupted(call, given);
      recorder.refused(call, failure, before + 1);
      return failure;
    }
    let since: bigint | undefined;
    /** Tries of fallback candidates that were given up: each candidate has its own retries. */
    let givenUp = 0;
    for (let tries = 1; ; tries += 1) {
      for (const layer of perAttempt) {
        const entered = layer.enter?.(call as Call<never>, running);
        if (!(entered instanceof Promise)) continue;
        queued ??= performance.now();
        await entered;
      }
      if (running.stop === undefined) {
        const waitedMs = queued === undefined ? 0 : Math.round(performance.now() - queued);
        const started = recorder.started(call, span, before + tries, tries === 1, waitedMs);
        since ??= started;
        queued = undefined;
        // Committed before it is done: a zombie owner does nothing, a resume knows that it may have happened.
        if (log !== undefined && call.sideEffect === 'unsafe') await log.commit();
      }
      const ended =
        running.stop === undefined ? await running.attempt(before + tries, span.handle) : stopped(running.stop);
      const outcome = ended.ok ? ended : interrupted(call, ended);
      leave(perAttempt, call, outcome, running);
      let delayMs = delayOf(call, outcome, tries - givenUp);
      if (delayMs === undefined && movesOn(call, outcome)) {
        givenUp = tries;
        delayMs = 0;
      }
      if (delayMs === undefined || outcome.ok) {
        leave(perCall, call, outcome, running);
        if (since === undefined) return neverStarted(recorder, call, outcome);
        recorder.ended(call, span, before + tries, since, outcome, running.spent);
        if (log !== undefined && call.sideEffect === 'unsafe') await log.commit();
        return outcome;
      }
      recorder.retried(call, span, before + tries, outcome.error, delayMs);
      await running.pause(delayMs);
    }
  } finally {
    stops.leave(running);
    parts.activity.busy(call.self, -1);
  }
}

/** Notes the failure of a call that never started. */
function neverStarted<T>(recorder: Recorder, call: Call<T>, outcome: Outcome<T>): Outcome<T> {
  if (!outcome.ok) recorder.neverStarted(call, outcome);
  return outcome;
}

/** The recorded outcome holds: no span, no event, no cost. What is asked for now must be the same call. */
function replayed<T>(
  parts: JournalParts,
  recorder: Recorder,
  call: Call<T>,
  recorded: RecordedCall<EffectKind>,
  ended: EndRow<EffectKind>,
): Outcome<T> {
  const changed = changes(call, recorded.started?.request);
  if (changed.length > 0) {
    if (call.kind === 'tool') throw parts.divergences.error(call.key, changed);
    parts.divergences.report(call.self, call.key, changed);
  }
  const outcome = outcomeOf(call, ended);
  if (outcome === undefined) throw parts.divergences.error(call.key, [{ part: 'tool', ...KINDS_OF_TOOLS }]);
  recorder.playback?.effect(call, recorded, ended, outcome);
  return outcome;
}

const KINDS_OF_TOOLS = { recorded: 'a procedure', now: 'a tool without calls of its own' };

/** Undefined where it is the end of a procedure, of which no value is on record. */
function outcomeOf<T>(call: Call<T>, ended: EndRow<EffectKind>): Outcome<T> | undefined {
  if (ended.event === 'failed') return { ok: false, error: failureOf(ended) };
  const read = readValue(call, ended);
  return read && { ok: true, value: read.value };
}

/** The outcome of a call that has started and has none: it may have happened. Undefined where it is to be done again. */
async function resolveUnknown<T>(
  parts: JournalParts,
  recorder: Recorder,
  call: Call<T>,
  started: StartRow<EffectKind>,
): Promise<Outcome<T> | undefined> {
  const changed = call.kind === 'tool' ? changes(call, started.request) : [];
  if (changed.length > 0) throw parts.divergences.error(call.key, changed);
  if (call.onUnknownOutcome === 'retry') return undefined;
  const known = (outcome: Outcome<T>) => recordKnown(parts, recorder, call, started, outcome);
  if (call.onUnknownOutcome === 'fail') return known(UNKNOWN);
  const answer = await parts.permissions.askOutcome(call as Call<never>, started.attempt);
  if (!answer.ok) return answer;
  switch (answer.value.decision) {
    case 'retry':
      return undefined;
    case 'happened': {
      const value = answer.value.value ?? null;
      return known({ ok: true, value: call.answer === undefined ? (value as T) : call.answer(value) });
    }
    case 'failed':
      return known(DECLARED_FAILED);
    default:
      return known(UNKNOWN);
  }
}

const UNKNOWN: Failure = {
  ok: false,
  error: {
    kind: 'unknown_outcome',
    message: 'the process died while this call was under way; whether it took effect is unknown',
    retryable: false,
  },
};

const DECLARED_FAILED: Failure = {
  ok: false,
  error: { kind: 'threw', message: 'a person said that it failed', retryable: false },
};

/** Records the outcome of a call of an earlier process. */
async function recordKnown<T>(
  parts: JournalParts,
  recorder: Recorder,
  call: Call<T>,
  started: StartRow<EffectKind>,
  outcome: Outcome<T>,
): Promise<Outcome<T>> {
  const span: Span = { key: call.key, parent: call.parent, handle: undefined };
  recorder.ended(call, span, started.attempt, started.time, outcome);
  await whileBusy(parts, call.self, () => parts.log?.commit());
  return outcome;
}

function delayOf<T>(call: Call<T>, outcome: Outcome<T>, attempt: number): number | undefined {
  if (outcome.ok || outcome.stop !== undefined || call.retry === undefined) return undefined;
  return retryDelay(outcome.error, attempt, { ...DEFAULTS.retry, ...call.retry });
}

/** The last to enter is the first to leave. */
function leave(layers: readonly Layer[], call: unknown, outcome: Outcome, work: Work): void {
  for (let index = layers.length - 1; index >= 0; index -= 1)
    layers[index]?.leave?.(call as Call<never>, outcome, work);
}

/** A call that failed for good may have another candidate: a fallback's next model. */
function movesOn<T>(call: Call<T>, outcome: Outcome<T>): boolean {
  return !outcome.ok && outcome.stop === undefined && call.next?.(outcome.error) === true;
}

/** What failed attempts cost is spent, however the call ends. */
function interrupted<T>(call: Call<T>, failure: Failure): Failure {
  const error = failure.error.usage === undefined ? call.interrupted?.(failure.error) : undefined;
  return error === undefined || error === failure.error ? failure : { ...failure, error };
}
