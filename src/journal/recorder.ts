import type { ErrorRecord } from '../core/errors.ts';
import type { Call, Failure, Outcome, Work } from '../core/journal.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { Draft, RunRecord, Span, SpanStart } from '../core/record.ts';
import { timeNow } from '../core/time.ts';
import { INTERRUPTED } from './history.ts';
import type { JournalParts } from './journal-parts.ts';
import { noteRow } from './note-row.ts';
import { Playback } from './playback.ts';
import type { RunLog } from './record-store.ts';
import { asJson, type Row } from './row.ts';
import { enclosing, storedRecord } from './stored-record.ts';
import { TraceFacts } from './trace-facts.ts';

/** A span that is open and whose record is not written yet. */
export interface Opened {
  readonly draft: Draft;
  readonly time: bigint;
}

/** What a row keeps of a record. */
interface Stored {
  readonly request: Json | undefined;
  readonly value: Json | undefined;
}

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
  readonly #facts = new TraceFacts();

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
    const time = (isReplay ? this.#pastOf(draft)?.time : undefined) ?? timeNow();
    // What a replay shows again has its spans elsewhere; its own begins now.
    if (instrument !== undefined && (!isReplay || draft.kind === 'run'))
      this.#openSpan(storedRecord(this.#parts, 0, isReplay ? timeNow() : time, draft), draft.span);
    return { draft, time };
  }

  tell(opened: readonly Opened[]): void {
    for (const { draft, time } of opened) {
      if (this.#parts.isReplay) this.note(draft);
      else this.#noteAt(draft, time, false);
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

  #noteAt(draft: Draft, time: bigint, opens: boolean): void {
    const stored = this.#parts.log && noteRow(draft);
    const traced = stored && { ...stored, request: this.#traced(draft, stored.request) };
    this.#write(this.#reopened(draft), time, opens, traced, this.#storedAs(draft));
  }

  /** With what a trace says beside it. */
  #traced(draft: Draft, request: Json | undefined): Json | undefined {
    const trace = this.#facts.of(draft);
    if (trace === undefined) return request;
    return isPlainObject(request) ? { ...(request as { [part: string]: Json }), trace } : { trace };
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

  /** The first attempt of a call opens its span. `waitedMs`: how long it stood in line. */
  started(call: Call<never> | Call<unknown>, span: Span, attempt: number, opens: boolean, waitedMs: number): bigint {
    if (!this.isWatched) {
      this.#records += 1;
      return 0n;
    }
    const time = timeNow();
    const draft = { ...place(call, span, attempt), ...call.started(), ...(waitedMs > 0 && { waitedMs }) };
    const stored = this.#parts.log && { request: this.#traced(draft, asJson(call.request?.())), value: undefined };
    this.#write(draft, time, opens, stored);
    return time;
  }

  retried(call: Call<never> | Call<unknown>, span: Span, attempt: number, error: ErrorRecord, delayMs: number): void {
    if (!this.isWatched) {
      this.#records += 1;
      return;
    }
    const entry = { kind: 'model', event: 'retry', value: { ...error, delayMs } } as const;
    const stored = { request: undefined, value: this.#parts.log && asJson(entry.value) };
    this.#write({ ...place(call, span, attempt), ...entry }, timeNow(), false, stored);
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
    const draft = { ...place(call, span, attempt), ...call.ended(outcome), since };
    const value = log && asJson(outcome.ok ? outcome.value : outcome.error);
    this.#write(draft, timeNow(), false, { request: spent && { spent }, value });
  }

  /** The ledger's refusal is an outcome: a resume must come to the same end. */
  refused(call: Call<never> | Call<unknown>, failure: Failure, attempt: number): void {
    const { log, epoch } = this.#parts;
    if (log !== undefined && failure.stop === undefined) {
      this.#records += 1;
      const { key, kind, step } = call;
      const at = { record: this.#records, key, kind, event: 'failed', attempt, epoch, time: timeNow(), step } as const;
      log.append({ ...at, traceId: '', spanId: '', request: undefined, value: asJson(failure.error) });
    }
    this.kept(call, failure);
  }

  /** A call that never started, with the record that says so: it is no outcome, and is shown once. */
  kept(call: Call<never> | Call<unknown>, failure: Failure): void {
    const { history, isReplay, log } = this.#parts;
    if (call.kept === undefined || !this.isWatched || isReplay || history?.has(call.key)) return;
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    const draft = { ...place(call, span, 1), ...call.kept(failure) };
    const stored = { request: undefined, value: log && asJson(failure.error) };
    this.#write(draft, timeNow(), false, stored, { event: 'cancel', attempt: 1 });
  }

  /** `stored` is made only where there is a log to keep it: it grows with what a run is given. */
  #write(
    draft: Draft,
    time: bigint,
    opens: boolean,
    stored: Stored | undefined,
    as: Pick<Row, 'event' | 'attempt'> = draft,
  ): void {
    const { sink, log } = this.#parts;
    this.#records += 1;
    const record = storedRecord(this.#parts, this.#records, time, draft);
    if (opens) this.#openSpan(record, draft.span);
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

  #openSpan(record: RunRecord, span: Span): void {
    const { instrument } = this.#parts;
    if (instrument !== undefined && opensSpan(record)) span.handle = instrument.start(record, enclosing(span.parent));
  }
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

function opensSpan(record: RunRecord): record is RunRecord & SpanStart {
  if (record.event !== 'started') return false;
  // A child apart has the span of its agent.
  return record.kind !== 'step' && record.kind !== 'wait' && record.kind !== 'child';
}
