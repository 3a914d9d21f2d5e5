import type { ErrorRecord } from '../core/errors.ts';
import { Stopped } from '../core/guard.ts';
import type { Invocation } from '../core/invocation.ts';
import type { Call, Failure, Journal, Layer, Outcome, Work } from '../core/journal.ts';
import type { Json } from '../core/json.ts';
import { DEFAULTS } from '../core/limits.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/permission.ts';
import type { Draft, Entry, Instrument, RunRecord, Span, SpanStart } from '../core/record.ts';
import { retryDelay } from '../core/retry.ts';
import type { Stop } from '../core/status.ts';
import { type Stops, stopError } from '../core/stops.ts';
import { timeNow } from '../core/time.ts';
import { changes, divergence, sameRequest } from './divergence.ts';
import { Flight } from './flight.ts';
import { errorOf, type History, INTERRUPTED, type Past } from './history.ts';
import { noteRow } from './note-row.ts';
import { Playback } from './playback.ts';
import type { RunLog } from './record-store.ts';
import { asJson, type Row } from './row.ts';
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
  /** Told each record in order, once it is committed; set while somebody looks. */
  readonly sink: { record: ((record: RunRecord) => void) | undefined };
  /** Where records are kept beyond the process. */
  readonly log: RunLog | undefined;
  /** What was recorded before this epoch. */
  readonly history: History | undefined;
  /** True where nothing new may happen: what is not recorded ends the run. */
  readonly isReplay: boolean;
  recordsEnd(): void;
  /** Told when an invocation becomes busy or idle. */
  activity(self: Invocation, busy: 1 | -1): void;
  /** True once the run was stopped in a way that a resume takes up again. */
  readonly isInterrupted: boolean;
  /** Told what changed since the record was made: reports it, or throws. */
  diverged(self: Invocation, key: string, parts: readonly string[]): void;
  /** Asks a person what became of a call that was started and has no outcome. */
  askDoubt(call: Call<never>, attempt: number): Promise<Outcome<Decision>>;
}

/** A span that is open and whose record is not written yet. */
export interface Opened {
  readonly draft: Draft;
  readonly time: bigint;
}

/** Boundaries that open anew in each epoch, as long as they have no end. */
const REOPENS: ReadonlySet<string> = new Set(['run', 'agent', 'tool', 'wait']);

/** Effects addressed by key: kept in memory, and in a log where the run has one. */
export class KeyedJournal implements Journal {
  readonly #parts: JournalParts;
  #records = 0;
  /** Records that wait for their commit before anybody sees them. */
  #uncommitted: RunRecord[] = [];
  /** Of a replay. */
  #played: Playback | undefined;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** Goes on after the records of earlier epochs, and shows each new one once it is committed. */
  attach(log: RunLog, records: number): void {
    this.#records = records;
    log.onCommit = () => this.#show();
  }

  #show(): void {
    const records = this.#uncommitted;
    this.#uncommitted = [];
    for (const record of records) this.#parts.sink.record?.(record);
  }

  /** Whether records are seen or kept by anybody; without, they are only counted. */
  get isWatched(): boolean {
    const { instrument, sink, log } = this.#parts;
    return instrument !== undefined || sink.record !== undefined || log !== undefined;
  }

  get isDurable(): boolean {
    return this.#parts.log !== undefined || this.#parts.history !== undefined;
  }

  has(key: string): boolean {
    return this.#parts.history?.has(key) ?? false;
  }

  recall(kind: Entry['kind'], key: string): Json | undefined {
    return this.#parts.history?.take(kind, key)?.ended?.value;
  }

  recallStart(kind: Entry['kind'], key: string): Json | undefined {
    return this.#parts.history?.take(kind, key)?.started?.request;
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
    for (const { draft, time } of opened) {
      if (this.#parts.isReplay) this.note(draft);
      else this.#write(this.#reopened(draft), time, false, this.#parts.log && noteRow(draft), this.#storedAs(draft));
    }
  }

  note(draft: Draft): bigint {
    const past = this.#pastOf(draft);
    if (past !== undefined) {
      this.#playback?.add(draft, past);
      return past.time;
    }
    // What a replay comes to beyond its records did not happen.
    if (this.#parts.isReplay) return timeNow();
    const time = timeNow();
    if (!this.isWatched) this.#records += 1;
    else
      this.#write(
        this.#reopened(draft),
        time,
        isSpanStart(draft),
        this.#parts.log && noteRow(draft),
        this.#storedAs(draft),
      );
    return time;
  }

  /** How a boundary is kept: what was only interrupted has no end. Its attempt is the epoch, since one that no longer holds may be there. */
  #storedAs(draft: Draft): { event: Row['event']; attempt: number } {
    const { epoch, isInterrupted } = this.#parts;
    const { kind, event } = draft;
    // Several may stand at one address.
    if (kind === 'gate') return { event, attempt: this.#records + 1 };
    const stays = !isInterrupted || (kind !== 'agent' && kind !== 'tool') || event === 'started';
    if (stays) return { event, attempt: epoch };
    const { status, error } = draft.value as { readonly status?: string; readonly error?: ErrorRecord };
    const isCut = INTERRUPTED.includes(kind === 'agent' ? status : error?.kind);
    return { event: isCut ? 'cancel' : event, attempt: epoch };
  }

  /** The row of a boundary that is recorded already. */
  #pastOf({ kind, key, event }: Draft): Row | undefined {
    // What is told of a gate belongs to the attempt at hand.
    if (kind === 'gate') return undefined;
    const past = this.#parts.history?.take(kind, key);
    if (past === undefined) return undefined;
    if (event !== 'started') return past.ended?.event === event ? past.ended : undefined;
    if (this.#parts.isReplay) return past.began;
    return past.ended === undefined && REOPENS.has(kind) ? undefined : past.started;
  }

  /** Starts of what goes on in a later epoch carry that epoch as their attempt. */
  #reopened(draft: Draft): Draft {
    const { epoch, log } = this.#parts;
    return log !== undefined && draft.event === 'started' && REOPENS.has(draft.kind)
      ? { ...draft, attempt: epoch }
      : draft;
  }

  /** replay → stop check → doubt → ledger → retry → gate → limiter → `started` → execute → settle → outcome → views. */
  effect<T>(call: Call<T>): Promise<Outcome<T>> {
    const { stops, history, isReplay } = this.#parts;
    const past = history?.take(call.kind, call.key);
    if (past?.ended !== undefined) return Promise.resolve(this.#replay(call, past, past.ended));
    if (isReplay) this.#parts.recordsEnd();
    const stop = stops.at(call.key);
    if (stop !== undefined) return Promise.resolve(this.#kept(call, stopped(stop)));
    return this.#live(call, past);
  }

  /** One frame for all of a call's life: a run that is parked in its first call keeps little. */
  async #live<T>(call: Call<T>, past: Past | undefined): Promise<Outcome<T>> {
    const { stops, perCall, perAttempt, log } = this.#parts;
    // Before the call counts as work: a person may be asked, and then the run may park.
    const known = past?.started === undefined ? undefined : await this.#doubt(call, past.started);
    if (known !== undefined) return known;
    const flight = new Flight(call);
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    const stop = past?.started && stops.at(call.key);
    if (stop !== undefined) return this.#kept(call, stopped(stop));
    stops.enter(flight);
    this.#parts.activity(call.self, 1);
    try {
      for (const layer of perCall) {
        const refused = layer.enter?.(call as Call<never>, flight);
        const failure = refused instanceof Promise ? await refused : refused;
        if (failure !== undefined) return this.#refused(call, failure, (past?.attempt ?? 0) + 1);
      }
      const before = past?.attempt ?? 0;
      let since: bigint | undefined;
      /** Tries of ways that were given up: each way has its own retries. */
      let givenUp = 0;
      for (let tries = 1; ; tries += 1) {
        for (const layer of perAttempt) {
          const entered = layer.enter?.(call as Call<never>, flight);
          if (entered instanceof Promise) await entered;
        }
        if (flight.stop === undefined) {
          const started = this.#start(call, span, before + tries, tries === 1);
          since ??= started;
          // Committed before it is done: a zombie owner does nothing, a resume knows that it may have happened.
          if (log !== undefined && call.sideEffect === 'unsafe') await log.commit();
        }
        const outcome =
          flight.stop === undefined ? await flight.attempt(before + tries, span.handle) : stopped(flight.stop);
        leave(perAttempt, call, outcome, flight);
        let delayMs = this.#retryDelay(call, outcome, tries - givenUp);
        if (delayMs === undefined && movesOn(call, outcome)) {
          givenUp = tries;
          delayMs = 0;
        }
        if (delayMs === undefined || outcome.ok) {
          leave(perCall, call, outcome, flight);
          if (since === undefined) return this.#kept(call, outcome as Failure);
          this.#end(call, span, before + tries, since, outcome, flight.spent);
          if (log !== undefined && call.sideEffect === 'unsafe') await log.commit();
          return outcome;
        }
        const retry = { kind: call.kind, event: 'retry', value: { ...outcome.error, delayMs } };
        this.#note(call, span, before + tries, retry, outcome.error);
        await flight.pause(delayMs);
      }
    } finally {
      stops.leave(flight);
      this.#parts.activity(call.self, -1);
    }
  }

  /** What is recorded stands: no span, no event, no cost. What was asked for now must be the same call. */
  #replay<T>(call: Call<T>, past: Past, ended: Row): Outcome<T> {
    const changed = changes(call, past.started?.request);
    if (changed.length > 0) {
      if (call.kind === 'tool') throw divergence(call.key, changed);
      this.#parts.diverged(call.self, call.key, changed);
    }
    const outcome = this.#recorded(call, ended);
    this.#playback?.effect(call, past, ended, outcome);
    return outcome;
  }

  #recorded<T>(call: Call<T>, ended: Row): Outcome<T> {
    if (ended.event === 'failed') return { ok: false, error: errorOf(ended) };
    return { ok: true, value: call.revive === undefined ? (ended.value as T) : call.revive(ended.value as Json) };
  }

  showAsks(key: string, self: Invocation, step: number): void {
    this.#playback?.asks(key, self, step);
  }

  /** Of a replay. */
  showPlayed(): void {
    this.#played?.show(this.#parts.id, this.#parts.sink.record);
  }

  get #playback(): Playback | undefined {
    const { isReplay, history } = this.#parts;
    if (!isReplay || history === undefined) return undefined;
    this.#played ??= new Playback(history);
    return this.#played;
  }

  /** Started, and no outcome: it may have happened. Undefined where it is to be done again. */
  async #doubt<T>(call: Call<T>, started: Row): Promise<Outcome<T> | undefined> {
    const changed = call.kind === 'tool' ? changes(call, started.request) : [];
    if (changed.length > 0) throw divergence(call.key, changed);
    if (call.onInDoubt === 'retry') return undefined;
    const unknown: Failure = {
      ok: false,
      error: {
        kind: 'unknown_outcome',
        message: 'the process died while this call was under way; whether it took effect is unknown',
        retryable: false,
      },
    };
    if (call.onInDoubt === 'fail') return this.#settled(call, started, unknown);
    const answer = await this.#parts.askDoubt(call as Call<never>, started.attempt);
    if (!answer.ok) return answer;
    switch (answer.value.decision) {
      case 'retry':
        return undefined;
      case 'happened': {
        const value = answer.value.value ?? null;
        return this.#settled(call, started, {
          ok: true,
          value: call.answer === undefined ? (value as T) : call.answer(value),
        });
      }
      case 'failed':
        return this.#settled(call, started, {
          ok: false,
          error: { kind: 'threw', message: 'a person said that it failed', retryable: false },
        });
      default:
        return this.#settled(call, started, unknown);
    }
  }

  async #settled<T>(call: Call<T>, started: Row, outcome: Outcome<T>): Promise<Outcome<T>> {
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    this.#end(call, span, started.attempt, started.time, outcome);
    this.#parts.activity(call.self, 1);
    await this.#parts.log?.commit();
    this.#parts.activity(call.self, -1);
    return outcome;
  }

  #retryDelay<T>(call: Call<T>, outcome: Outcome<T>, attempt: number): number | undefined {
    if (outcome.ok || outcome.stop !== undefined || call.retry === undefined) return undefined;
    return retryDelay(outcome.error, attempt, { ...DEFAULTS.retry, ...call.retry });
  }

  #start<T>(call: Call<T>, span: Span, attempt: number, opens: boolean): bigint {
    if (!this.isWatched) {
      this.#records += 1;
      return 0n;
    }
    const time = timeNow();
    const draft = {
      ...place(call, span, attempt),
      kind: call.kind,
      event: 'started',
      request: call.started(),
    } as unknown as Draft;
    const request = this.#parts.log && asJson(call.request?.());
    this.#write(draft, time, opens, { request, value: undefined });
    return time;
  }

  /** What was stopped has no outcome. What the model was told, also that nobody knows, is one. */
  #end<T>(call: Call<T>, span: Span, attempt: number, since: bigint, outcome: Outcome<T>, spent?: Work['spent']): void {
    const { sink, log } = this.#parts;
    if (sink.record === undefined && log === undefined) {
      this.#records += 1;
      return;
    }
    const event = outcome.ok ? 'done' : outcome.stop === undefined ? 'failed' : 'cancel';
    const value = event === 'cancel' && !outcome.ok ? outcome.error : call.ended(outcome);
    const tool = call.kind === 'tool' ? { request: call.started(), ran: true } : {};
    this.#note(
      call,
      span,
      attempt,
      { kind: call.kind, event, value, since, ...tool },
      outcome.ok ? outcome.value : outcome.error,
      spent && { spent },
    );
  }

  /** The ledger's refusal is an outcome: a resume must come to the same end. */
  #refused<T>(call: Call<T>, failure: Failure, attempt: number): Failure {
    const { log, epoch } = this.#parts;
    if (log !== undefined && failure.stop === undefined) {
      this.#records += 1;
      const row = {
        record: this.#records,
        key: call.key,
        kind: call.kind,
        event: 'failed',
        attempt,
        epoch,
        time: timeNow(),
        step: call.step,
      } as const;
      log.append({ ...row, traceId: '', spanId: '', request: undefined, value: asJson(failure.error) });
    }
    return this.#kept(call, failure);
  }

  /** A call that never started, with the record that says so: it is no outcome, and is shown once. */
  #kept<T>(call: Call<T>, failure: Failure): Failure {
    const { history, isReplay } = this.#parts;
    if (call.kind !== 'tool' || !this.isWatched || isReplay || history?.has(call.key)) return failure;
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    const entry = { kind: 'tool', event: 'failed', request: call.started(), value: call.ended(failure), ran: false };
    const draft = { ...place(call, span, 1), ...entry } as unknown as Draft;
    const stored = { request: undefined, value: this.#parts.log && asJson(failure.error) };
    this.#write(draft, timeNow(), false, stored, { event: 'cancel', attempt: 1 });
    return failure;
  }

  #note(
    call: Call<never> | Call<unknown>,
    span: Span,
    attempt: number,
    entry: object,
    value: unknown,
    request?: Json,
  ): void {
    const { log } = this.#parts;
    if (!this.isWatched) return;
    const draft = { ...place(call, span, attempt), ...entry } as unknown as Draft;
    this.#write(draft, timeNow(), false, { request, value: log && asJson(value) });
  }

  /** `stored` is made only where there is a log to keep it: it grows with what a run is given. */
  #write(
    draft: Draft,
    time: bigint,
    opens: boolean,
    stored: { request: Json | undefined; value: Json | undefined } | undefined,
    as: { event: Row['event']; attempt: number } = draft,
  ): void {
    const { instrument, sink, log } = this.#parts;
    this.#records += 1;
    const record = storedRecord(this.#parts, this.#records, time, draft);
    if (opens && instrument !== undefined)
      draft.span.handle = instrument.start(record as unknown as SpanStart, enclosing(draft.span.parent));
    if (log === undefined) {
      sink.record?.(record);
      return;
    }
    const { key, kind, step } = draft;
    const { event, attempt } = as;
    const { traceId, spanId, epoch } = record;
    log.append({ record: this.#records, key, kind, event, attempt, epoch, time, step, traceId, spanId, ...stored });
    if (sink.record !== undefined) this.#uncommitted.push(record);
  }

  once<T>(key: string, self: Invocation, propose: () => T): T {
    const past = this.#parts.history?.take('once', key)?.ended;
    if (past !== undefined) return past.value as T;
    if (this.#parts.isReplay) {
      this.#parts.recordsEnd();
      throw new Stopped(this.#parts.stops.at(key) ?? { status: 'suspended', reason: 'The records end here.' });
    }
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
    if (value instanceof Promise) return this.#proposed(entry, value) as T;
    this.note({ ...entry, value: value as Json });
    return value;
  }

  async #proposed<T>(entry: OnceEntry, proposed: Promise<T>): Promise<T> {
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
    const past = this.#parts.history?.take('wait', key);
    if (past?.ended !== undefined) {
      this.#playback?.asks(key.replace(/\/@[^/]*$/, ''), self, step);
      return { ok: true, value: past.ended.value as unknown as Decision };
    }
    if (this.#parts.isReplay) this.#parts.recordsEnd();
    const stop = this.#parts.stops.at(key);
    if (stop !== undefined) return stopped(stop);
    const shown = sameRequest(past?.started?.request, request);
    const entry = { key, place: self, step, attempt: 1, span: self.span, kind: 'wait', request: shown } as const;
    const answered = this.#parts.waits.open(self, shown);
    const since = this.note({ ...entry, event: 'started' });
    await this.#parts.log?.commit();
    const unwatch = this.#parts.log?.watch();
    const outcome = await answered;
    unwatch?.();
    // It goes on in a moment: the run must not park until then.
    this.#parts.activity(self, 1);
    if (outcome.ok) this.note({ ...entry, event: 'done', value: outcome.value, since });
    else {
      const place = { key, place: self, step, attempt: this.#parts.epoch, span: self.span } as const;
      this.note({ ...place, kind: 'wait', event: 'cancel', value: outcome.error, since });
    }
    await this.#parts.log?.commit();
    this.#parts.activity(self, -1);
    return outcome;
  }

  async sleep(key: string, self: Invocation, ms: number): Promise<Outcome<null>> {
    const { stops, history } = this.#parts;
    if (history?.take('sleep', key)?.ended !== undefined) return { ok: true, value: null };
    if (this.#parts.isReplay) this.#parts.recordsEnd();
    const stop = stops.at(key);
    if (stop !== undefined) return stopped(stop);
    const deadline = this.once(`${key}/@deadline`, self, () => Date.now() + ms);
    this.#parts.activity(self, 1);
    const unwatch = this.#parts.log?.watch();
    const outcome = await new Sleeper(key, stops, deadline).sleep();
    unwatch?.();
    this.#parts.activity(self, -1);
    if (outcome.ok)
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
