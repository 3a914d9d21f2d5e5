import type { ErrorRecord } from '../core/errors.ts';
import type { SpanHandle, SpanStart } from '../core/instrument.ts';
import type { Call, Failure, Outcome, Work } from '../core/journal.ts';
import { isPlainObject } from '../core/json.ts';
import type { Draft, Entry, RunRecord, Span } from '../core/record.ts';
import { timeNow } from '../core/time.ts';
import { INTERRUPTED } from './history.ts';
import type { JournalParts } from './journal-parts.ts';
import { noteRow } from './note-row.ts';
import { Playback } from './playback.ts';
import type { RunLog } from './record-store.ts';
import type { Row } from './row.ts';
import { enclosing, isValid, storedRecord } from './stored-record.ts';
import { TraceFacts } from './trace-facts.ts';

/** A span that is open and whose record is not written yet. */
export interface Opened {
  readonly draft: Draft;
  readonly time: bigint;
}

/** What a row keeps of a record: made only where there is a log, since it grows with what a run is given. */
interface Kept extends Pick<Row, 'key' | 'kind' | 'event' | 'attempt' | 'step'> {
  readonly span: Span;
  readonly request: unknown;
  readonly value: unknown;
}

const NOTHING = Object.freeze({ request: undefined, value: undefined });
const NO_SPAN = Object.freeze({ traceId: undefined, spanId: undefined });

/** Boundaries that open anew in each epoch, as long as they have no end. */
const REOPENS: ReadonlySet<string> = new Set(['run', 'agent', 'tool', 'wait']);

/** Writes down what happens: numbered, to the run's log where it has one, and to whoever looks once that is committed. */
export class Recorder {
  readonly #parts: JournalParts;
  #records = 0;
  /** Records that wait for their commit before anybody sees them. */
  #uncommitted: RunRecord[] = [];
  /** Of a replay. */
  #played: Playback | undefined;
  #hasBegun = false;
  #traceFacts: TraceFacts | undefined;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** Goes on after the records of earlier epochs, and shows each new one once it is committed. */
  attach(log: RunLog): void {
    this.#records = log.run.rows.at(-1)?.record ?? 0;
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

  /** Where a replay gathers what it shows. */
  get playback(): Playback | undefined {
    const { isReplay, history } = this.#parts;
    if (!isReplay || history === undefined) return undefined;
    this.#played ??= new Playback(history);
    return this.#played;
  }

  showPlayed(): void {
    this.#played?.show(this.#parts.id, this.#parts.sink.record);
  }

  /** Opens a span at once; its record is written when it is told. */
  open(draft: Draft): Opened {
    const { instrument, isReplay } = this.#parts;
    const reopened = this.#reopened(draft);
    const time = (isReplay ? this.#pastOf(draft)?.time : undefined) ?? timeNow();
    // What a replay shows again has its spans elsewhere; its own begins now.
    const isSeen = isReplay ? draft.kind === 'run' : this.#pastOf(draft) === undefined;
    if (instrument !== undefined && isSeen)
      this.#openSpan(storedRecord(this.#parts, 0, isReplay ? timeNow() : time, reopened), draft.span);
    return { draft, time };
  }

  /** The run's result rejects, which is no end of it: a resume goes on. Its trace says when that was. Gives the time. */
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

  tell(opened: readonly Opened[]): void {
    this.#hasBegun = true;
    for (const { draft, time } of opened) {
      if (this.#parts.isReplay) this.note(draft);
      else if (this.#pastOf(draft) === undefined) this.#noteAt(draft, time, false);
    }
  }

  /** A boundary that is no effect; one that is recorded is not written again. Gives its time. */
  note(draft: Draft): bigint {
    const past = this.#pastOf(draft);
    if (past !== undefined) {
      this.playback?.add(draft, past);
      return past.time;
    }
    const time = timeNow();
    // What a replay comes to beyond its records did not happen.
    if (this.#parts.isReplay) return time;
    if (!this.isWatched) this.#records += 1;
    else this.#noteAt(draft, time, true);
    return time;
  }

  #noteAt(given: Draft, time: bigint, opens: boolean): void {
    const draft = this.#reopened(given);
    const { key, kind, step, span } = draft;
    const { request, value } = this.#parts.log === undefined ? NOTHING : this.#kept(draft);
    this.#write({ key, kind, step, span, ...this.#storedAs(draft), request, value }, time, opens, () => draft);
  }

  #kept(draft: Draft): { readonly request: unknown; readonly value: unknown } {
    const { request, value } = noteRow(draft);
    return { request: traced(request, this.#facts.ofBoundary(draft)), value };
  }

  get #facts(): TraceFacts {
    this.#traceFacts ??= new TraceFacts();
    return this.#traceFacts;
  }

  /** How a boundary is kept: what was only interrupted has no end. Its attempt is the epoch, since one that no longer holds may be there. */
  #storedAs(draft: Draft): Pick<Row, 'event' | 'attempt'> {
    const { epoch, isInterrupted } = this.#parts;
    // Several may stand at one address.
    if (draft.kind === 'gate') return { event: draft.event, attempt: this.#records + 1 };
    return { event: isInterrupted && isCut(draft) ? 'cancel' : draft.event, attempt: epoch };
  }

  /** The row of a boundary that is recorded already. */
  #pastOf({ kind, key, event }: Draft): Row | undefined {
    // What is told of a gate belongs to the attempt at hand, and a run that goes on was not over.
    if (kind === 'gate' || (kind === 'run' && !this.#parts.isReplay)) return undefined;
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

  /** The first attempt of a call opens its span. `waitedMs`: how long it stood in line. */
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
    const kept = { key, kind, event: 'started', attempt, step, span, request, value: undefined } as const;
    this.#write(kept, time, opens, () => ({ ...place(call, span, attempt), ...start, ...waited }));
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
    const kept = { key, attempt, step, span, request: undefined, ...entry } as const;
    this.#write(kept, timeNow(), false, () => ({ ...place(call, span, attempt), ...entry }));
  }

  /** What was stopped has no outcome. What the model was told, also that nobody knows, is one. */
  ended<T>(
    call: Call<T>,
    span: Span,
    attempt: number,
    since: bigint,
    outcome: Outcome<T>,
    spent?: Work['spent'],
  ): void {
    const { sink, log } = this.#parts;
    if (sink.record === undefined && log === undefined) {
      this.#records += 1;
      return;
    }
    const { key, kind, step, paidBy } = call;
    const event = outcome.ok ? 'done' : outcome.stop === undefined ? 'failed' : 'cancel';
    const request = paidBy === undefined ? spent && { spent } : { ...(spent && { spent }), paidBy };
    const value = outcome.ok ? outcome.value : outcome.error;
    const kept = { key, kind, event, attempt, step, span, request, value } as const;
    this.#write(kept, timeNow(), false, () => ({ ...place(call, span, attempt), ...call.ended(outcome), since }));
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
    this.kept(call, failure);
  }

  /** A call that never started, with the record that says so: it is no outcome, and is shown once. */
  kept(call: Call<never> | Call<unknown>, failure: Failure): void {
    const { history, isReplay } = this.#parts;
    if (call.kept === undefined || !this.isWatched || isReplay || history?.has(call.key)) return;
    const { key, kind, step } = call;
    const span: Span = { key, parent: call.parent, handle: undefined };
    const said = call.kept(failure);
    const kept = {
      key,
      kind,
      event: 'cancel',
      attempt: 1,
      step,
      span,
      request: undefined,
      value: failure.error,
    } as const;
    this.#write(kept, timeNow(), false, () => ({ ...place(call, span, 1), ...said }));
  }

  /** `draft` is asked for where somebody looks. */
  #write(kept: Kept, time: bigint, opens: boolean, draft: () => Draft): void {
    const { instrument, sink, log, epoch } = this.#parts;
    const record = this.#records + 1;
    const isShown = sink.record !== undefined || (opens && instrument !== undefined);
    const shown = isShown ? storedRecord(this.#parts, record, time, draft()) : undefined;
    if (opens && shown !== undefined) this.#openSpan(shown, kept.span);
    if (log !== undefined) {
      const { key, kind, event, attempt, step, request, value } = kept;
      const { traceId, spanId } = spanOf(kept) ?? NO_SPAN;
      log.append({ record, key, kind, event, attempt, epoch, time, step, traceId, spanId, request, value });
    }
    this.#records = record;
    if (shown === undefined || sink.record === undefined) return;
    if (log === undefined) sink.record(shown);
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

function place(call: Call<never> | Call<unknown>, span: Span, attempt: number) {
  return { key: call.key, place: call.self, step: call.step, attempt, span };
}

/** Whether a resume takes up again what ended here. */
function isCut(draft: Draft): boolean {
  if (draft.kind === 'agent' && draft.event === 'done') return INTERRUPTED.includes(draft.value.status);
  if (draft.kind !== 'tool' || draft.event === 'started' || draft.event === 'cancel') return false;
  return INTERRUPTED.includes(draft.value.error?.kind);
}

/** The instrument's span that starts with a record, where its ids are valid. */
function spanOf({ kind, event, span: { handle } }: Kept): SpanHandle | undefined {
  return handle !== undefined && startsSpan(kind, event) && isValid(handle) ? handle : undefined;
}

/** A child apart has the span of its agent. */
function startsSpan(kind: Entry['kind'], event: Entry['event']): boolean {
  return event === 'started' && kind !== 'step' && kind !== 'wait' && kind !== 'child';
}

function opensSpan(record: RunRecord): record is RunRecord & SpanStart {
  return startsSpan(record.kind, record.event);
}
