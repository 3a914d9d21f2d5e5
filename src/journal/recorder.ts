import type { Draft, RunRecord, Span } from '../core/contract/record.ts';
import { envelope } from '../core/runtime/envelope.ts';
import type { Call, Failure, Outcome, Work } from '../core/runtime/journal.ts';
import type { ErrorRecord } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { timeNow } from '../core/values/time.ts';
import { recordedRow, reopened, storedEvent } from './boundary.ts';
import type { JournalParts } from './journal-parts.ts';
import { Playback } from './playback.ts';
import type { RunLog } from './record-store.ts';
import type { Row } from './row.ts';
import { opensSpan, spanOf } from './span-start.ts';
import { boundaryForm, effectForm, type StoredForm } from './stored-form.ts';
import { enclosing, storedRecord } from './stored-record.ts';
import { TraceFacts } from './trace-facts.ts';

/** A span that is open and whose record is not written yet. */
export interface Opened {
  readonly draft: Draft;
  readonly time: bigint;
}

/** What a row keeps of a record: made only where there is a log, since it grows with what a run is given. */
interface RowContent extends Pick<Row, 'key' | 'kind' | 'event' | 'attempt' | 'step'> {
  readonly span: Span;
  readonly request: unknown;
  readonly value: unknown;
}

const NOTHING = Object.freeze({ request: undefined, value: undefined });
const NO_SPAN = Object.freeze({ traceId: undefined, spanId: undefined });

/** Numbers the records of a run, writes them to its log where it has one, and shows them to observers once they are committed. */
export class Recorder {
  readonly #parts: JournalParts;
  #records = 0;
  /** Records that wait for their commit before observers see them, and what has no record and came after them. */
  #uncommitted: (RunRecord | (() => void))[] = [];
  /** Of a replay. */
  #played: Playback | undefined;
  #hasBegun = false;
  #traceFacts: TraceFacts | undefined;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** Numbers records after those of earlier epochs, and shows each new one once it is committed. */
  attach(log: RunLog): void {
    this.#records = log.run.rows.at(-1)?.record ?? 0;
    log.onCommit = () => this.#show();
  }

  #show(): void {
    const waiting = this.#uncommitted;
    this.#uncommitted = [];
    for (const one of waiting) {
      if (typeof one === 'function') one();
      else this.#parts.observers.record?.(one);
    }
  }

  /** Shows what has no record, in its place: a piece of an answer must not be seen before the call that it is of. */
  inOrder(show: () => void): void {
    if (this.#uncommitted.length === 0) show();
    else this.#uncommitted.push(show);
  }

  /** Whether records are shown or stored; otherwise they are only counted. */
  get isWatched(): boolean {
    const { instrument, observers, log } = this.#parts;
    return instrument !== undefined || observers.record !== undefined || log !== undefined;
  }

  /** The records that a replay shows, gathered until its end; undefined elsewhere. */
  get playback(): Playback | undefined {
    const { isReplay, history } = this.#parts;
    if (!isReplay || history === undefined) return undefined;
    this.#played ??= new Playback(history);
    return this.#played;
  }

  showPlayed(): void {
    this.#played?.show(this.#parts.id, this.#parts.observers.record);
  }

  /** Opens a span at once; `noteOpened` writes its record. */
  open(draft: Draft): Opened {
    const { instrument, isReplay } = this.#parts;
    const again = reopened(this.#parts, draft);
    const time = (isReplay ? recordedRow(this.#parts, draft)?.time : undefined) ?? timeNow();
    // What a replay shows again has its spans elsewhere; its own begins now.
    const isSeen = isReplay ? draft.kind === 'run' : recordedRow(this.#parts, draft) === undefined;
    if (instrument !== undefined && isSeen)
      this.#openSpan(storedRecord(this.#parts, 0, isReplay ? timeNow() : time, again), draft.span);
    return { draft, time };
  }

  /** The run's result rejects, which does not end the run: a resume continues it. Its trace has the time, which is also returned. */
  abandoned({ kind }: ErrorRecord): bigint {
    const time = timeNow();
    const { log, epoch } = this.#parts;
    if (log === undefined || !this.#hasBegun) return time;
    this.#records += 1;
    const at = {
      record: this.#records,
      key: '@run',
      kind: 'run',
      event: 'cancel',
      attempt: epoch,
      epoch,
      time,
    } as const;
    log.append({ ...at, step: 0, value: { kind } });
    return time;
  }

  /** Writes the records of opened spans. */
  noteOpened(opened: readonly Opened[]): void {
    this.#hasBegun = true;
    for (const { draft, time } of opened) {
      if (this.#parts.isReplay) this.note(draft);
      else if (recordedRow(this.#parts, draft) === undefined) this.#noteAt(draft, time, false);
    }
  }

  /** A boundary that is no effect; one that is recorded is not written again. Gives its time. */
  note(draft: Draft): bigint {
    const recorded = recordedRow(this.#parts, draft);
    if (recorded !== undefined) {
      this.playback?.add(draft, recorded);
      return recorded.time;
    }
    const time = timeNow();
    // What a replay comes to beyond its records did not happen.
    if (this.#parts.isReplay) return time;
    if (!this.isWatched) this.#records += 1;
    else this.#noteAt(draft, time, true);
    return time;
  }

  #noteAt(given: Draft, time: bigint, opens: boolean): void {
    const draft = reopened(this.#parts, given);
    const { key, kind, step, span } = draft;
    const { request, value } = this.#parts.log === undefined ? NOTHING : this.#storedForm(draft);
    this.#write(
      { key, kind, step, span, ...storedEvent(this.#parts, draft, this.#records), request, value },
      time,
      opens,
      () => draft,
    );
  }

  #storedForm(draft: Draft): StoredForm {
    const { request, value } = boundaryForm(draft);
    return { request: traced(request, this.#facts.ofBoundary(draft)), value };
  }

  get #facts(): TraceFacts {
    this.#traceFacts ??= new TraceFacts();
    return this.#traceFacts;
  }

  /** The first attempt of a call opens its span. `waitedMs`: how long it was queued. */
  started(call: Call<never> | Call<unknown>, span: Span, attempt: number, opens: boolean, waitedMs: number): bigint {
    if (!this.isWatched) {
      this.#records += 1;
      return 0n;
    }
    const time = timeNow();
    const { key, kind, step, paidBy } = call;
    const start = call.started();
    const waited = waitedMs > 0 ? { waitedMs } : undefined;
    const request = this.#parts.log && traced(call.request?.(), this.#facts.ofCall(start, waited?.waitedMs, paidBy));
    const row = { key, kind, event: 'started', attempt, step, span, request, value: undefined } as const;
    this.#write(row, time, opens, () => ({ ...envelopeOf(call, span, attempt), ...start, ...waited }));
    return time;
  }

  retried(call: Call<never> | Call<unknown>, span: Span, attempt: number, error: ErrorRecord, delayMs: number): void {
    if (!this.isWatched) {
      this.#records += 1;
      return;
    }
    const { key, step } = call;
    const value = { ...error, delayMs };
    const entry = { kind: 'model', event: 'retry', value } as const;
    const row = { key, attempt, step, span, request: undefined, ...entry } as const;
    this.#write(row, timeNow(), false, () => ({ ...envelopeOf(call, span, attempt), ...entry }));
  }

  /** A stopped call has no outcome. An unknown outcome that the model has read is one. */
  ended<T>(
    call: Call<T>,
    span: Span,
    attempt: number,
    since: bigint,
    outcome: Outcome<T>,
    spent?: Work['spent'],
  ): void {
    const { observers, log } = this.#parts;
    if (observers.record === undefined && log === undefined) {
      this.#records += 1;
      return;
    }
    const { key, kind, step } = call;
    const event = outcome.ok ? 'done' : outcome.stop === undefined ? 'failed' : 'cancel';
    const stored = effectForm(call, outcome, spent);
    const row = { key, kind, event, attempt, step, span, ...stored } as const;
    this.#write(row, timeNow(), false, () => ({ ...envelopeOf(call, span, attempt), ...call.ended(outcome), since }));
  }

  /** The ledger's refusal is an outcome: a resume must come to the same end. */
  refused(call: Call<never> | Call<unknown>, failure: Failure, attempt: number): void {
    const { log, epoch } = this.#parts;
    if (log !== undefined && failure.stop === undefined) {
      const record = this.#records + 1;
      const { key, kind, step } = call;
      const value = failure.error;
      log.append({ record, key, kind, event: 'failed', attempt, epoch, time: timeNow(), step, value });
      this.#records = record;
    }
    this.neverStarted(call, failure);
  }

  /** A call that never started, with the record that says so: it is no outcome, and is shown once. */
  neverStarted(call: Call<never> | Call<unknown>, failure: Failure): void {
    const { history, isReplay } = this.#parts;
    if (call.neverStarted === undefined || !this.isWatched || isReplay || history?.has(call.key)) return;
    const { key, kind, step } = call;
    const span: Span = { key, parent: call.parent, handle: undefined };
    const end = call.neverStarted(failure);
    const row = {
      key,
      kind,
      event: 'cancel',
      attempt: 1,
      step,
      span,
      request: undefined,
      value: failure.error,
    } as const;
    this.#write(row, timeNow(), false, () => ({ ...envelopeOf(call, span, 1), ...end }));
  }

  /** `draft` is called only where the record is shown. */
  #write(row: RowContent, time: bigint, opens: boolean, draft: () => Draft): void {
    const { instrument, observers, log, epoch } = this.#parts;
    const record = this.#records + 1;
    const isShown = observers.record !== undefined || (opens && instrument !== undefined);
    const shown = isShown ? storedRecord(this.#parts, record, time, draft()) : undefined;
    if (opens && shown !== undefined) this.#openSpan(shown, row.span);
    if (log !== undefined) {
      const { key, kind, event, attempt, step, request, value } = row;
      const { traceId, spanId } = spanOf(row) ?? NO_SPAN;
      log.append({ record, key, kind, event, attempt, epoch, time, step, traceId, spanId, request, value });
    }
    this.#records = record;
    if (shown === undefined || observers.record === undefined) return;
    if (log === undefined) observers.record(shown);
    else this.#uncommitted.push(shown);
  }

  #openSpan(record: RunRecord, span: Span): void {
    const { instrument } = this.#parts;
    if (instrument !== undefined && opensSpan(record)) span.handle = instrument.start(record, enclosing(span.parent));
  }
}

/** With what a trace says beside it. */
function traced(request: unknown, trace: object | undefined): unknown {
  if (trace === undefined) return request;
  return isPlainObject(request) ? { ...request, trace } : { trace };
}

function envelopeOf({ self, key, step }: Call<never> | Call<unknown>, span: Span, attempt: number) {
  return envelope(self, key, { step, attempt, span });
}
