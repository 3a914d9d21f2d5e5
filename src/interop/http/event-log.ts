import type { RunEvent } from '../../core/contract/event.ts';
import { eventState, eventsOf } from '../../core/contract/events-of-record.ts';
import { isFinal } from '../../core/values/status.ts';
import { rebuiltRecords } from '../../journal/rebuilt-records.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import type { EventView } from './event-view.ts';
import { jsonText } from './send-json.ts';

interface Frame {
  readonly position: number;
  readonly size: number;
  readonly attempt: number;
  readonly event: RunEvent | Reset;
  /** Made when the first watcher reads it. */
  bytes: Buffer | undefined;
}

/** Precedes the first piece of a call's second attempt: the pieces of the first attempt are void. */
interface Reset {
  readonly type: 'reset';
  readonly key: string;
  readonly attempt: number;
}

/** Some frames in one buffer, and the position of the last one. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly position: number;
}

const CHUNK_BYTES = 65_536;

/**
 * The events of a run in wire format, each encoded once for all watchers; a watcher is no more than a position. Bounded: the
 * oldest events are dropped, and a watcher that has not read them receives a `gap`.
 */
export class EventLog {
  readonly #visible: EventView;
  readonly #max: number;
  #frames: Frame[] = [];
  /** Frames before this index are gone. */
  #from = 0;
  #bytes = 0;
  #position = 0;
  #dropped = 0;
  readonly #attempts = new Map<string, number>();
  readonly #watchers = new Set<() => void>();
  #isDue = false;
  /** How long the last notification of all watchers took, in milliseconds. */
  #tookMs = 0;
  #isEnded = false;
  #last: { readonly from: number; readonly chunk: Chunk } | undefined;

  constructor(visible: EventView, maxBytes: number) {
    this.#visible = visible;
    this.#max = maxBytes;
  }

  /** True while no more events come: the run is over, or it is parked. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  append(given: RunEvent | Omit<RunEvent, 'seq'>): void {
    const event = given as RunEvent;
    const attempt = this.#attemptOf(event);
    if (attempt === undefined) return;
    const position = this.#next(event.record);
    if (position !== undefined && this.#visible.includes(event)) this.#add(event, attempt, position);
  }

  /** The attempt that an event belongs to; undefined for a late piece of an earlier attempt. A new attempt adds a `reset`. */
  #attemptOf(event: RunEvent): number | undefined {
    const { key, type } = event;
    const before = this.#attempts.get(key) ?? 1;
    if (type === 'model.end' || type === 'tool.end') this.#attempts.delete(key);
    if (type !== 'model.delta') return before;
    // A late piece of an abandoned attempt.
    if (event.attempt < before) return undefined;
    if (event.attempt === before) return before;
    this.#attempts.set(key, event.attempt);
    const position = this.#next(undefined);
    if (position !== undefined && this.#visible.includes(event))
      this.#add({ type: 'reset', key, attempt: event.attempt }, event.attempt, position);
    return event.attempt;
  }

  #next(record: number | undefined): number | undefined {
    const start = record === undefined ? 0 : record * PIECES;
    if (start > this.#position) this.#position = start;
    else if ((this.#position + 1) % PIECES === 0) return undefined;
    else this.#position += 1;
    return this.#position;
  }

  #add(event: RunEvent | Reset, attempt: number, position: number): void {
    const size = sizeOf(event);
    this.#frames.push({ position, size, attempt, event, bytes: undefined });
    this.#bytes += size;
    while (this.#bytes > this.#max && this.#frames.length - this.#from > 1) this.#drop();
    this.#wake();
  }

  #drop(): void {
    const first = this.#frames[this.#from];
    if (first === undefined) return;
    this.#bytes -= first.size;
    this.#dropped = first.position;
    this.#from += 1;
    if (this.#from < 1_024 || this.#from * 2 < this.#frames.length) return;
    this.#frames = this.#frames.slice(this.#from);
    this.#from = 0;
  }

  /** Notifies all watchers, once per turn of the event loop; if that took long, after a pause of the same length, for the run. */
  #wake(): void {
    if (this.#isDue || this.#watchers.size === 0) return;
    this.#isDue = true;
    if (this.#tookMs < 2) setImmediate(() => this.#notify());
    else setTimeout(() => this.#notify(), this.#tookMs);
  }

  #notify(): void {
    this.#isDue = false;
    const since = performance.now();
    for (const watcher of this.#watchers) watcher();
    this.#tookMs = performance.now() - since;
  }

  /** Continues the log of a resumed run, after all pieces that an earlier process may have shown since the last record. */
  reopen(): void {
    this.#isEnded = false;
    const half = Math.floor(this.#position / PIECES) * PIECES + PIECES / 2;
    this.#position = Math.max(this.#position, half);
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** Calls `watcher` when there is more, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** The frames after a position, up to 64 kB; undefined if there are none. Watchers at the same position share the buffer. */
  after(position: number): Chunk | undefined {
    if (position >= this.#position && position >= this.#dropped) return undefined;
    if (this.#last?.from === position && this.#isCurrent(this.#last.chunk)) return this.#last.chunk;
    const parts: Buffer[] = [];
    let reached = position;
    let bytes = 0;
    if (position < this.#dropped) {
      parts.push(frame('gap', eventId('@run', 1, this.#dropped), {}));
      reached = this.#dropped;
    }
    for (let index = this.#indexAfter(reached); index < this.#frames.length && bytes < CHUNK_BYTES; index += 1) {
      const next = this.#frames[index] as Frame;
      next.bytes ??= this.#encode(next);
      parts.push(next.bytes);
      bytes += next.bytes.length;
      reached = next.position;
    }
    if (parts.length === 0) return undefined;
    const chunk = { bytes: Buffer.concat(parts), position: reached };
    this.#last = { from: position, chunk };
    return chunk;
  }

  #encode({ event, attempt, position }: Frame): Buffer {
    const data = event.type === 'reset' ? { key: event.key, attempt } : this.#visible.show(event);
    return frame(event.type, eventId(event.key, attempt, position), data);
  }

  /** Whether a chunk is still what follows its position: no newer frame belongs to it. */
  #isCurrent({ bytes, position }: Chunk): boolean {
    return position === this.#position || bytes.length >= CHUNK_BYTES;
  }

  #indexAfter(position: number): number {
    let low = this.#from;
    let high = this.#frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#frames[middle] as Frame).position <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The approximate size of an event as JSON: its texts, arguments and results are the large parts. */
function sizeOf(event: RunEvent | Reset): number {
  let size = 600;
  if ('text' in event) size += event.text.length;
  if (event.type === 'model.delta' && event.delta.type !== 'tool_call') size += event.delta.text.length;
  if ('args' in event) size += lengthOf(event.args);
  if (event.type === 'tool.end') size += lengthOf(event.result);
  if ('request' in event) size += lengthOf(event.request);
  return size;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0);
}

/** JSON has no line breaks, so one `data` line holds it. */
function frame(type: string, id: string, data: object): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${jsonText(data)}\n\n`);
}

/**
 * The id of an event on the wire: `key:attempt:chunk`. `chunk` is the position in the run, a number that
 * grows: the number of the last record times a million, plus the count of pieces without a record since then. Records keep
 * their numbers when another process resumes the run, so the position is valid there too.
 */
export function eventId(key: string, attempt: number, chunk: number): string {
  return `${encodeURI(key.toWellFormed())}:${attempt}:${chunk}`;
}

/** Pieces without a record between two records; further pieces are not shown. */
export const PIECES = 1_000_000;

/** The position after which a client continues: 0, the beginning, without an id or with an invalid one. */
export function positionAfter(id: string | undefined): number {
  const [, chunk = ''] = /^[^\r\n]{1,4096}:\d{1,9}:(\d{1,16})$/.exec(id ?? '') ?? [];
  const position = Number(chunk);
  return Number.isSafeInteger(position) ? position : 0;
}

/** The events of a run's records, for a client of a process that did not execute the run. */
export function storedEvents(run: StoredRun): readonly Omit<RunEvent, 'seq'>[] {
  const state = eventState();
  const events = rebuiltRecords(run).flatMap((record) => eventsOf(record, state));
  const last = isFinal(run.status) ? events.at(-1) : undefined;
  // A run that was stopped with its process is resumed: `aborted` was not its end.
  return events.filter((event) => event.type !== 'run.end' || event === last);
}
