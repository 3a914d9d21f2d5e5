import type { SpanHandle } from '../core/contract/instrument.ts';
import type { Draft, Entry, NodeRef, RunRecord, Span } from '../core/contract/record.ts';
import { sha256 } from '../core/values/json.ts';
import { isoTime } from '../core/values/time.ts';
import type { Row } from './row.ts';

/** The run that records belong to. */
export interface RecordedRun {
  readonly id: string;
  readonly epoch: number;
}

const NO_SPAN = '0000000000000000';

/** A record as it is handed to views. Ids are worked out when they are read: hashing them costs more than all the rest. */
class StoredRecord {
  readonly record: number;
  readonly key: string;
  readonly kind: Entry['kind'];
  readonly event: Entry['event'];
  readonly node: NodeRef;
  readonly step: number;
  readonly attempt: number;
  readonly time: bigint;
  readonly since: bigint | undefined;
  readonly waitedMs: number | undefined;
  readonly request: unknown;
  readonly value: unknown;
  readonly ran: boolean | undefined;
  readonly #run: RecordedRun;
  readonly #span: Span;

  constructor(run: RecordedRun, record: number, time: bigint, draft: Draft) {
    this.#run = run;
    this.#span = draft.span;
    this.record = record;
    this.time = time;
    this.key = draft.key;
    this.kind = draft.kind;
    this.event = draft.event;
    this.node = draft.node;
    this.step = draft.step;
    this.attempt = draft.attempt;
    this.since = draft.since;
    this.waitedMs = draft.waitedMs;
    this.request = draft.request;
    this.value = 'value' in draft ? draft.value : undefined;
    this.ran = 'ran' in draft ? draft.ran : undefined;
  }

  get run(): string {
    return this.#run.id;
  }
  get epoch(): number {
    return this.#run.epoch;
  }
  get traceId(): string {
    return traceIdOf(this.#run, this.#span);
  }
  get spanId(): string {
    return spanIdOf(this.#run, this.#span);
  }
  get parentSpanId(): string | undefined {
    const { parent, handle } = this.#span;
    return parent === undefined ? handle?.caller?.spanId : spanIdOf(this.#run, parent);
  }

  toJSON(): object {
    const { run, epoch, traceId, spanId, parentSpanId, node, since } = this;
    const { path, agent, parentStep } = node;
    const times = { time: isoTime(this.time), ...(since !== undefined && { since: isoTime(since) }) };
    return { ...this, ...times, run, epoch, traceId, spanId, parentSpanId, node: { path, agent, parentStep } };
  }
}

export function storedRecord(run: RecordedRun, record: number, time: bigint, draft: Draft): RunRecord {
  return new StoredRecord(run, record, time, draft) as unknown as RunRecord;
}

/** The instrument's where it is valid, else one that follows from run and epoch. */
export function traceIdOf(run: RecordedRun, span: Span): string {
  return handleAbove(span)?.traceId ?? traceIdFrom(run);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The run id itself where it is a UUID and this is the first epoch: as unlike any other, and to be recognised. */
function traceIdFrom({ id, epoch }: RecordedRun): string {
  return epoch === 1 && UUID.test(id) ? id.replaceAll('-', '') : sha256(`${id}|${epoch}`).slice(0, 32);
}

export function spanIdOf(run: RecordedRun, span: Span): string {
  return isValid(span.handle) ? span.handle.spanId : spanIdFrom(run, span.key);
}

function spanIdFrom({ id, epoch }: RecordedRun, key: string): string {
  return sha256(`${id}|${key}|${epoch}`).slice(0, 16);
}

/** The span that a row of a run starts: an instrument's where the row has its ids. */
export function spanOfRow(
  run: string,
  { key, epoch, traceId, spanId }: Pick<Row, 'key' | 'epoch' | 'traceId' | 'spanId'>,
): { traceId: string; spanId: string } {
  const recorded = { id: run, epoch };
  return { traceId: traceId ?? traceIdFrom(recorded), spanId: spanId ?? spanIdFrom(recorded, key) };
}

function handleAbove(span: Span): SpanHandle | undefined {
  for (let at: Span | undefined = span; at !== undefined; at = at.parent) if (isValid(at.handle)) return at.handle;
  return undefined;
}

/** One that records nothing has zeros for ids. */
export function isValid(handle: SpanHandle | undefined): handle is SpanHandle {
  return handle !== undefined && handle.spanId !== NO_SPAN;
}

/** The handle that a new span nests in. */
export function enclosing(span: Span | undefined): SpanHandle | undefined {
  for (let at = span; at !== undefined; at = at.parent) if (at.handle !== undefined) return at.handle;
  return undefined;
}
