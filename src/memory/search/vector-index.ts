import type { MemoryFile } from '../file/memory-file.ts';
import { floatsOf } from '../vectors/cosine-similarity.ts';
import { Segment } from '../vectors/segment.ts';

/** From this many vectors on a segment is stored as i8, a quarter of the bytes, and the best are scored again from the file. */
export const I8_FROM = 20_000;
/** All segments together; the one that is searched stays, however large. */
const MAX_BYTES = 1_073_741_824;

/** Segments of the file's vectors, read when they are first searched and kept in step with every process's writes. */
export class VectorIndex {
  /** The least recently searched first. */
  readonly #segments = new Map<number, Segment>();
  /** The last change that all segments have. */
  #seen = 0;

  /** The segment as the file has it at this moment; within a snapshot. */
  segment(file: MemoryFile, number: number, dimensions: number): Segment {
    this.#follow(file);
    let segment = this.#segments.get(number);
    if (segment === undefined) segment = load(file, number, dimensions);
    this.#segments.delete(number);
    this.#segments.set(number, segment);
    this.#evict();
    return segment;
  }

  #follow(file: MemoryFile): void {
    const { first, last } = file.get<{ first: number | null; last: number | null }>(
      'SELECT (SELECT min(seq) FROM changes) AS first, (SELECT max(seq) FROM changes) AS last',
    ) ?? { first: null, last: null };
    if (last === null || last === this.#seen) return;
    // Changes that we missed are not listed any more.
    if ((first ?? 0) > this.#seen + 1) this.clear();
    if (this.#segments.size > 0) {
      const rows = file.iterate<{ segment: number; version: number; data: Uint8Array | null }>(
        `SELECT DISTINCT c.segment, c.version, v.data FROM changes c
         LEFT JOIN vectors v ON v.segment = c.segment AND v.version = c.version AND v.current = 1 WHERE c.seq > ?`,
        this.#seen,
      );
      for (const { segment, version, data } of rows) {
        if (data === null) this.#segments.get(segment)?.remove(version);
        else this.#segments.get(segment)?.set(version, floatsOf(data));
      }
    }
    for (const [number, segment] of this.#segments) {
      if (segment.precision === 'f32' && segment.count >= I8_FROM * 2) this.#forget(number, segment);
    }
    this.#seen = last;
  }

  #evict(): void {
    let bytes = 0;
    for (const segment of this.#segments.values()) bytes += segment.bytes;
    for (const [number, segment] of this.#segments) {
      if (bytes <= MAX_BYTES || this.#segments.size === 1) return;
      this.#forget(number, segment);
      bytes -= segment.bytes;
    }
  }

  /** Forgets all segments; they are read again when they are searched. */
  clear(): void {
    for (const [number, segment] of this.#segments) this.#forget(number, segment);
  }

  #forget(number: number, segment: Segment): void {
    this.#segments.delete(number);
    segment.dispose();
  }
}

function load(file: MemoryFile, number: number, dimensions: number): Segment {
  const count =
    file.get<{ count: number }>('SELECT count(*) AS count FROM vectors WHERE segment = ?', number)?.count ?? 0;
  const segment = new Segment({ dimensions, precision: count >= I8_FROM ? 'i8' : 'f32' });
  segment.reserve(count);
  const rows = file.iterate<{ version: number; data: Uint8Array }>(
    'SELECT version, data FROM vectors WHERE segment = ? AND current = 1',
    number,
  );
  for (const { version, data } of rows) segment.set(version, floatsOf(data));
  return segment;
}
