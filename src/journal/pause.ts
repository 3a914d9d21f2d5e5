import type { ApprovalRequest, Decision, WaitRequest } from '../core/contract/permission.ts';
import { envelope } from '../core/runtime/envelope.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Outcome } from '../core/runtime/journal.ts';
import { type Interruptible, type Stops, stopped } from '../core/runtime/stops.ts';
import type { Stop } from '../core/values/status.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';
import { sameRequest } from './divergence.ts';
import { type JournalParts, whileBusy } from './journal-parts.ts';
import type { Recorder } from './recorder.ts';

/** Asks a person or another process, and waits for the answer. */
export async function wait(
  parts: JournalParts,
  recorder: Recorder,
  key: string,
  self: Invocation,
  step: number,
  request: ApprovalRequest | WaitRequest,
): Promise<Outcome<Decision>> {
  const recorded = parts.history?.take('wait', key);
  if (recorded?.ended !== undefined) {
    recorder.playback?.asks(key.replace(/\/@[^/]*$/, ''), self, step);
    return { ok: true, value: recorded.ended.value };
  }
  if (parts.isReplay) parts.cancellation.recordsEnd(key);
  const stop = parts.stops.at(key);
  if (stop !== undefined) return stopped(stop);
  const shown = sameRequest(recorded?.started?.request, request);
  const entry = { ...envelope(self, key, { step }), kind: 'wait', request: shown } as const;
  const answered = parts.waits.open(self, shown);
  const asked = recorder.note({ ...entry, event: 'started' });
  // Of one that was asked for before the process ended, when that was.
  const since = recorded?.began?.time ?? asked;
  await parts.log?.commit();
  const outcome = await answered;
  // The invocation continues in a moment: the run must not park until then.
  await whileBusy(parts, self, () => {
    if (outcome.ok) recorder.note({ ...entry, event: 'done', value: outcome.value, since });
    else
      recorder.note({
        ...envelope(self, key, { step, attempt: parts.epoch }),
        kind: 'wait',
        event: 'cancel',
        value: outcome.error,
        since,
      });
    return parts.log?.commit();
  });
  return outcome;
}

/** A timer whose deadline is recorded: it continues in the next process. */
export async function sleep(
  parts: JournalParts,
  recorder: Recorder,
  key: string,
  self: Invocation,
  until: () => number,
): Promise<Outcome<null>> {
  const { stops, history } = parts;
  if (history?.take('sleep', key)?.ended !== undefined) return { ok: true, value: null };
  if (parts.isReplay) parts.cancellation.recordsEnd(key);
  const stop = stops.at(key);
  if (stop !== undefined) return stopped(stop);
  const deadline = until();
  const outcome = await whileBusy(parts, self, () => new Sleeper(key, stops, deadline).sleep());
  if (outcome.ok) recorder.note({ ...envelope(self, key), kind: 'sleep', event: 'done', value: deadline });
  return outcome;
}

/** A timer of a procedure; a stop ends it early. One that is longer than a timer holds runs in parts. */
class Sleeper implements Interruptible {
  readonly key: string;
  readonly #stops: Stops;
  /** In milliseconds since 1970. */
  readonly #deadline: number;
  /** The same by a monotonic clock: where the wall clock is set back, it still ends in time. */
  readonly #due: number;
  #timer: NodeJS.Timeout | undefined;
  #wake: ((outcome: Outcome<null>) => void) | undefined;

  constructor(key: string, stops: Stops, deadline: number) {
    this.key = key;
    this.#stops = stops;
    this.#deadline = deadline;
    this.#due = performance.now() + deadline - Date.now();
  }

  sleep(): Promise<Outcome<null>> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#stops.enter(this);
      this.#tick();
    });
  }

  interrupt(stop: Stop): void {
    this.#end(stopped(stop));
  }

  #tick(): void {
    const remainingMs = Math.min(this.#deadline - Date.now(), this.#due - performance.now());
    if (remainingMs <= 0) this.#end({ ok: true, value: null });
    else this.#timer = setTimeout(() => this.#tick(), Math.min(remainingMs, LONGEST_TIMER_MS));
  }

  #end(outcome: Outcome<null>): void {
    clearTimeout(this.#timer);
    this.#stops.leave(this);
    this.#wake?.(outcome);
    this.#wake = undefined;
  }
}
