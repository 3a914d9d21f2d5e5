import type { Invocation } from '../core/invocation.ts';
import type { Call, Failure, Journal, Layer, Outcome, Work } from '../core/journal.ts';
import type { Json } from '../core/json.ts';
import { DEFAULTS } from '../core/limits.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { Draft, Instrument, RunRecord, Span, SpanStart } from '../core/record.ts';
import { retryDelay } from '../core/retry.ts';
import type { Stop } from '../core/status.ts';
import { type Stops, stopError } from '../core/stops.ts';
import { timeNow } from '../core/time.ts';
import { Flight } from './flight.ts';
import { Sleeper } from './sleeper.ts';
import { enclosing, storedRecord } from './stored-record.ts';
import type { Waits } from './waits.ts';

export interface JournalParts {
  readonly id: string;
  readonly epoch: number;
  readonly stops: Stops;
  readonly waits: Waits;
  readonly instrument: Instrument | undefined;
  /** Once per call, retries included: the ledger. */
  readonly perCall: readonly Layer[];
  /** Once per attempt: the limiter. */
  readonly perAttempt: readonly Layer[];
  /** Told each record, in order, synchronously; set while somebody looks. */
  readonly sink: { record: ((record: RunRecord) => void) | undefined };
  /** Told when an invocation becomes busy or idle. */
  activity(self: Invocation, busy: 1 | -1): void;
}

/** A span that is open and whose record is not written yet. */
export interface Opened {
  readonly draft: Draft;
  readonly time: bigint;
}

/** Effects addressed by key, kept in memory: what is finished lives as long as the run. */
export class KeyedJournal implements Journal {
  readonly #parts: JournalParts;
  #records = 0;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** Whether records are seen by anybody; without, they are only counted. */
  get isWatched(): boolean {
    return this.#parts.instrument !== undefined || this.#parts.sink.record !== undefined;
  }

  /** Opens a span at once; its record is written when it is told. */
  open(draft: Draft): Opened {
    const time = timeNow();
    const { instrument } = this.#parts;
    if (instrument !== undefined) {
      const start = storedRecord(this.#parts, 0, time, draft) as unknown as SpanStart;
      draft.span.handle = instrument.start(start, enclosing(draft.span.parent));
    }
    return { draft, time };
  }

  tell(opened: readonly Opened[]): void {
    for (const { draft, time } of opened) this.#commit(draft, time, false);
  }

  note(draft: Draft): bigint {
    const time = timeNow();
    const record = this.#commit(draft, time, isSpanStart(draft));
    return record === undefined ? time : record.time;
  }

  /** stop check → ledger → retry → gate → limiter → `started` → execute → settle → outcome → views. */
  async effect<T>(call: Call<T>): Promise<Outcome<T>> {
    const { stops, perCall, perAttempt } = this.#parts;
    const stop = stops.at(call.key);
    if (stop !== undefined) return this.#kept(call, stopped(stop));
    const flight = new Flight(call);
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    stops.enter(flight);
    this.#parts.activity(call.self, 1);
    try {
      for (const layer of perCall) {
        const refused = layer.enter?.(call as Call<never>, flight);
        const failure = refused instanceof Promise ? await refused : refused;
        if (failure !== undefined) return this.#kept(call, failure);
      }
      let since: bigint | undefined;
      /** Attempts of ways that were given up: each way has its own retries. */
      let before = 0;
      for (let attempt = 1; ; attempt += 1) {
        for (const layer of perAttempt) {
          const entered = layer.enter?.(call as Call<never>, flight);
          if (entered instanceof Promise) await entered;
        }
        if (flight.stop === undefined) {
          const started = this.#start(call, span, attempt);
          since ??= started;
        }
        const outcome = flight.stop === undefined ? await flight.attempt(attempt, span.handle) : stopped(flight.stop);
        leave(perAttempt, call, outcome, flight);
        let delayMs = this.#retryDelay(call, outcome, attempt - before);
        if (delayMs === undefined && movesOn(call, outcome)) {
          before = attempt;
          delayMs = 0;
        }
        if (delayMs === undefined || outcome.ok) {
          leave(perCall, call, outcome, flight);
          return since === undefined
            ? this.#kept(call, outcome as Failure)
            : this.#end(call, span, attempt, since, outcome);
        }
        this.#note(call, span, attempt, { kind: call.kind, event: 'retry', value: { ...outcome.error, delayMs } });
        await flight.pause(delayMs);
      }
    } finally {
      stops.leave(flight);
      this.#parts.activity(call.self, -1);
    }
  }

  #retryDelay<T>(call: Call<T>, outcome: Outcome<T>, attempt: number): number | undefined {
    if (outcome.ok || outcome.stop !== undefined || call.retry === undefined) return undefined;
    return retryDelay(outcome.error, attempt, { ...DEFAULTS.retry, ...call.retry });
  }

  #start<T>(call: Call<T>, span: Span, attempt: number): bigint {
    if (this.isWatched) {
      const time = timeNow();
      const draft = {
        ...place(call, span, attempt),
        kind: call.kind,
        event: 'started',
        request: call.started(),
      } as unknown as Draft;
      this.#commit(draft, time, attempt === 1);
      return time;
    }
    this.#records += 1;
    return 0n;
  }

  #end<T>(call: Call<T>, span: Span, attempt: number, since: bigint, outcome: Outcome<T>): Outcome<T> {
    const event = outcome.ok
      ? 'done'
      : outcome.stop === undefined && outcome.error.kind !== 'unknown_outcome'
        ? 'failed'
        : 'cancel';
    if (this.#parts.sink.record === undefined) {
      this.#records += 1;
      return outcome;
    }
    const value = event === 'cancel' && !outcome.ok ? outcome.error : call.ended(outcome);
    const tool = call.kind === 'tool' ? { request: call.started(), ran: true } : {};
    this.#note(call, span, attempt, { kind: call.kind, event, value, since, ...tool });
    return outcome;
  }

  /** A call that never started, with the record that says so. */
  #kept<T>(call: Call<T>, failure: Failure): Failure {
    if (call.kind === 'tool' && this.#parts.sink.record !== undefined) {
      const span: Span = { key: call.key, parent: call.parent, handle: undefined };
      this.#note(call, span, 1, {
        kind: 'tool',
        event: 'failed',
        request: call.started(),
        value: call.ended(failure),
        ran: false,
      });
    }
    return failure;
  }

  #note(call: Call<never> | Call<unknown>, span: Span, attempt: number, entry: object): void {
    if (this.#parts.sink.record !== undefined)
      this.#commit({ ...place(call, span, attempt), ...entry } as unknown as Draft, timeNow(), false);
  }

  #commit(draft: Draft, time: bigint, opens: boolean): RunRecord | undefined {
    const { instrument, sink } = this.#parts;
    const commit = sink.record;
    this.#records += 1;
    if (commit === undefined && (instrument === undefined || !opens)) return undefined;
    const record = storedRecord(this.#parts, this.#records, time, draft);
    if (opens && instrument !== undefined)
      draft.span.handle = instrument.start(record as unknown as SpanStart, enclosing(draft.span.parent));
    commit?.(record);
    return record;
  }

  once<T>(key: string, self: Invocation, propose: () => T): T {
    const entry = {
      key,
      place: self,
      step: self.step,
      attempt: 1,
      span: self.span,
      kind: 'once',
      event: 'done',
    } as const;
    const value = propose();
    if (value instanceof Promise) return this.#settled(entry, value) as T;
    this.note({ ...entry, value: value as Json });
    return value;
  }

  async #settled<T>(entry: OnceEntry, proposed: Promise<T>): Promise<T> {
    const value = await proposed;
    this.note({ ...entry, value: value as Json });
    return value;
  }

  async wait(
    key: string,
    self: Invocation,
    step: number,
    request: ApprovalRequest | WaitRequest,
  ): Promise<Outcome<Decision>> {
    const stop = this.#parts.stops.at(key);
    if (stop !== undefined) return stopped(stop);
    const entry = { key, place: self, step, attempt: 1, span: self.span, kind: 'wait', request } as const;
    const answered = this.#parts.waits.open(self, request);
    const since = this.note({ ...entry, event: 'started' });
    const outcome = await answered;
    if (outcome.ok) this.note({ ...entry, event: 'done', value: outcome.value, since });
    else
      this.note({
        key,
        place: self,
        step,
        attempt: 1,
        span: self.span,
        kind: 'wait',
        event: 'cancel',
        value: outcome.error,
        since,
      });
    return outcome;
  }

  async sleep(key: string, self: Invocation, ms: number): Promise<Outcome<null>> {
    const { stops } = this.#parts;
    const stop = stops.at(key);
    if (stop !== undefined) return stopped(stop);
    this.#parts.activity(self, 1);
    const deadline = Date.now() + ms;
    const outcome = await new Sleeper(key, stops, deadline).sleep();
    this.#parts.activity(self, -1);
    if (outcome.ok) {
      this.note({
        key,
        place: self,
        step: self.step,
        attempt: 1,
        span: self.span,
        kind: 'sleep',
        event: 'done',
        value: deadline,
      });
    }
    return outcome;
  }
}

type OnceEntry = Omit<Extract<Draft, { kind: 'once' | 'sleep' }>, 'value' | 'request' | 'since'>;

/** The last to enter is the first to leave. */
function leave(layers: readonly Layer[], call: unknown, outcome: Outcome, flight: Work): void {
  for (let index = layers.length - 1; index >= 0; index -= 1)
    layers[index]?.leave?.(call as Call<never>, outcome, flight);
}

/** A call that failed for good may have another way: a fallback's next model. */
function movesOn<T>(call: Call<T>, outcome: Outcome<T>): boolean {
  return !outcome.ok && outcome.stop === undefined && call.next?.(outcome.error) === true;
}

function stopped(stop: Stop): Failure {
  return { ok: false, error: stopError(stop), stop };
}

function place(call: Call<never> | Call<unknown>, span: Span, attempt: number) {
  return { key: call.key, place: call.self, step: call.step, attempt, span };
}

function isSpanStart(draft: Draft): boolean {
  return draft.event === 'started' && (draft.kind === 'run' || draft.kind === 'agent' || draft.kind === 'tool');
}
