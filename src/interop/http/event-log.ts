import type { RunEvent } from '../../core/contract/event.ts';
import { eventId, PIECES } from './event-id.ts';
import { jsonText } from './send-json.ts';
import type { ShownEvents } from './shown-event.ts';

interface Frame {
  readonly place: number;
  readonly size: number;
  readonly attempt: number;
  readonly event: RunEvent | Reset;
  /** Made when the first watcher reads it. */
  bytes: Buffer | undefined;
}

/** Before the first piece of a call's second attempt: what was shown of it no longer holds. */
interface Reset {
  readonly type: 'reset';
  readonly key: string;
  readonly attempt: number;
}

/** Some frames in one piece, and the place of the last of them. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly place: number;
}

const CHUNK_BYTES = 65_536;

/**
 * The events of a run as they go over the wire, each made once for all who watch; a watcher is a place in it and nothing more.
 * Bounded: what is oldest goes, and who has not read it yet is told of a gap.
 */
export class EventLog {
  readonly #shown: ShownEvents;
  readonly #max: number;
  #frames: Frame[] = [];
  /** Frames before this index are gone. */
  #from = 0;
  #bytes = 0;
  #place = 0;
  #gone = 0;
  readonly #attempts = new Map<string, number>();
  readonly #watchers = new Set<() => void>();
  #isDue = false;
  /** How long it took to tell all who watch, last time, in milliseconds. */
  #tookMs = 0;
  #isEnded = false;
  #last: { readonly from: number; readonly chunk: Chunk } | undefined;

  constructor(shown: ShownEvents, maxBytes: number) {
    this.#shown = shown;
    this.#max = maxBytes;
  }

  /** True while nothing more comes: the run is over, or waits and is not under way. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  append(given: RunEvent | Omit<RunEvent, 'seq'>): void {
    const event = given as RunEvent;
    const attempt = this.#attemptOf(event);
    if (attempt === undefined) return;
    const place = this.#next(event.record);
    if (place !== undefined && this.#shown.isShown(event)) this.#add(event, attempt, place);
  }

  /** Of a call that began anew: what was shown of it before no longer holds. */
  #attemptOf(event: RunEvent): number | undefined {
    const { key, type } = event;
    const before = this.#attempts.get(key) ?? 1;
    if (type === 'model.end' || type === 'tool.end') this.#attempts.delete(key);
    if (type !== 'model.delta') return before;
    // A piece that an attempt given up sends late.
    if (event.attempt < before) return undefined;
    if (event.attempt === before) return before;
    this.#attempts.set(key, event.attempt);
    const place = this.#next(undefined);
    if (place !== undefined && this.#shown.isShown(event))
      this.#add({ type: 'reset', key, attempt: event.attempt }, event.attempt, place);
    return event.attempt;
  }

  #next(record: number | undefined): number | undefined {
    const start = record === undefined ? 0 : record * PIECES;
    if (start > this.#place) this.#place = start;
    else if ((this.#place + 1) % PIECES === 0) return undefined;
    else this.#place += 1;
    return this.#place;
  }

  #add(event: RunEvent | Reset, attempt: number, place: number): void {
    const size = sizeOf(event);
    this.#frames.push({ place, size, attempt, event, bytes: undefined });
    this.#bytes += size;
    while (this.#bytes > this.#max && this.#frames.length - this.#from > 1) this.#drop();
    this.#wake();
  }

  #drop(): void {
    const first = this.#frames[this.#from];
    if (first === undefined) return;
    this.#bytes -= first.size;
    this.#gone = first.place;
    this.#from += 1;
    if (this.#from < 1_024 || this.#from * 2 < this.#frames.length) return;
    this.#frames = this.#frames.slice(this.#from);
    this.#from = 0;
  }

  /** Tells all who watch, once a turn of the event loop; where that takes its time, the run has as much of it in between. */
  #wake(): void {
    if (this.#isDue || this.#watchers.size === 0) return;
    this.#isDue = true;
    if (this.#tookMs < 2) setImmediate(() => this.#tell());
    else setTimeout(() => this.#tell(), this.#tookMs);
  }

  #tell(): void {
    this.#isDue = false;
    const since = performance.now();
    for (const watcher of this.#watchers) watcher();
    this.#tookMs = performance.now() - since;
  }

  /** More comes again, of a run that goes on: after all pieces that an earlier process may have shown since the last record. */
  reopen(): void {
    this.#isEnded = false;
    const half = Math.floor(this.#place / PIECES) * PIECES + PIECES / 2;
    this.#place = Math.max(this.#place, half);
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** Calls `watcher` when there is more, until what it gives is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** What follows a place, up to 64 kB; undefined where nothing does. All who stand at one place share it. */
  after(place: number): Chunk | undefined {
    if (place >= this.#place && place >= this.#gone) return undefined;
    if (this.#last?.from === place && this.#isWhole(this.#last.chunk)) return this.#last.chunk;
    const parts: Buffer[] = [];
    let reached = place;
    let bytes = 0;
    if (place < this.#gone) {
      parts.push(frame('gap', eventId('@run', 1, this.#gone), {}));
      reached = this.#gone;
    }
    for (let index = this.#indexAfter(reached); index < this.#frames.length && bytes < CHUNK_BYTES; index += 1) {
      const next = this.#frames[index] as Frame;
      next.bytes ??= this.#encode(next);
      parts.push(next.bytes);
      bytes += next.bytes.length;
      reached = next.place;
    }
    if (parts.length === 0) return undefined;
    const chunk = { bytes: Buffer.concat(parts), place: reached };
    this.#last = { from: place, chunk };
    return chunk;
  }

  #encode({ event, attempt, place }: Frame): Buffer {
    const data = event.type === 'reset' ? { key: event.key, attempt } : this.#shown.show(event);
    return frame(event.type, eventId(event.key, attempt, place), data);
  }

  /** Whether nothing came since that would belong to it. */
  #isWhole({ bytes, place }: Chunk): boolean {
    return place === this.#place || bytes.length >= CHUNK_BYTES;
  }

  #indexAfter(place: number): number {
    let low = this.#from;
    let high = this.#frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#frames[middle] as Frame).place <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** About how large an event is as JSON: what is long of one are its texts, arguments and results. */
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
