import { F32_STEP, I8_STEP, plainMemory, type ScanMemory, wasmMemory } from './kernel.ts';
import { dotError, quantiseQuery, quantiseRow } from './quantise.ts';

/** `i8` holds a quarter of the bytes and gives approximations with a bound; `f32` is exact. */
export type Precision = 'f32' | 'i8';

export interface SegmentOptions {
  readonly dimensions: number;
  readonly precision: Precision;
  /** Default: WASM from {@link WASM_ROWS} rows on, where there is WebAssembly with SIMD. */
  readonly kernel?: 'plain' | 'wasm' | undefined;
}

/** Below this the memory of a WebAssembly module costs more than it saves. */
const WASM_ROWS = 1_024;
/** Rows of one call of the kernel: its results stay in the processor's cache. */
const BLOCK = 4_096;
const FIRST_ROWS = 16;

/**
 * Unit vectors of one namespace and embedder, one behind the other in one memory, each under a number. A row is a slot;
 * removing moves the last row into the hole, so that a scan never meets one.
 */
export class Segment {
  readonly dimensions: number;
  readonly precision: Precision;
  readonly #stride: number;
  /** Query, then results of one block, then rows. */
  readonly #query: number;
  readonly #out: number;
  readonly #rows: number;
  readonly #options: SegmentOptions;
  #memory: ScanMemory;
  #isWasm: boolean;
  #capacity = FIRST_ROWS;
  #count = 0;
  #numbers = new Uint32Array(FIRST_ROWS);
  #scales = new Float32Array(0);
  #errors = new Float32Array(0);
  #scores = new Float32Array(FIRST_ROWS);
  #queryError = 0;
  /** The largest error of a row so far. */
  #worstRow = 0;
  readonly #slots = new Map<number, number>();

  constructor(options: SegmentOptions) {
    this.#options = options;
    this.dimensions = options.dimensions;
    this.precision = options.precision;
    const isF32 = options.precision === 'f32';
    this.#stride = isF32 ? padded(options.dimensions * 4, F32_STEP) : padded(options.dimensions, I8_STEP);
    this.#query = 0;
    this.#out = isF32 ? this.#stride : this.#stride * 2;
    this.#rows = padded(this.#out + BLOCK * 4, F32_STEP);
    this.#isWasm = false;
    this.#memory = plainMemory(this.#bytes(FIRST_ROWS));
    if (options.kernel === 'wasm') this.#useWasm(FIRST_ROWS);
    if (!isF32) this.#growBounds();
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes held, about. */
  get bytes(): number {
    return this.#bytes(this.#capacity) + this.#capacity * 8 + this.#count * 48;
  }

  /** The number of each slot. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.#count);
  }

  slotOf(number: number): number | undefined {
    return this.#slots.get(number);
  }

  /** Makes room, so that so many rows are added without copying. */
  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    if (rows >= WASM_ROWS && !this.#isWasm && this.#options.kernel !== 'plain') this.#useWasm(rows);
    this.#memory.grow(this.#bytes(rows));
    this.#capacity = rows;
    this.#numbers = grown(this.#numbers, rows);
    this.#scores = new Float32Array(rows);
    if (this.precision === 'i8') this.#growBounds();
  }

  /** Adds a unit vector, or replaces that of the number. */
  set(number: number, vector: Float32Array): void {
    let slot = this.#slots.get(number);
    if (slot === undefined) {
      slot = this.#count;
      if (slot === this.#capacity) this.reserve(Math.ceil(this.#capacity * 1.5));
      this.#count += 1;
      this.#numbers[slot] = number;
      this.#slots.set(number, slot);
    }
    const at = this.#rows + slot * this.#stride;
    if (this.precision === 'f32') {
      new Float32Array(this.#memory.buffer(), at, this.dimensions).set(vector);
      return;
    }
    const row = new Int8Array(this.#memory.buffer(), at, this.dimensions);
    const { scale, error } = quantiseRow(vector, row);
    this.#scales[slot] = scale;
    this.#errors[slot] = error;
    this.#worstRow = Math.max(this.#worstRow, this.#errors[slot] as number);
  }

  remove(number: number): void {
    const slot = this.#slots.get(number);
    if (slot === undefined) return;
    const last = this.#count - 1;
    const bytes = new Uint8Array(this.#memory.buffer());
    const at = this.#rows + last * this.#stride;
    if (slot !== last) {
      bytes.copyWithin(this.#rows + slot * this.#stride, at, at + this.#stride);
      const moved = this.#numbers[last] as number;
      this.#numbers[slot] = moved;
      this.#slots.set(moved, slot);
      if (this.precision === 'i8') {
        this.#scales[slot] = this.#scales[last] as number;
        this.#errors[slot] = this.#errors[last] as number;
      }
    }
    bytes.fill(0, at, at + this.#stride);
    this.#slots.delete(number);
    this.#count = last;
  }

  /**
   * Scores the given slots, or all, against a unit vector: cosines by slot, valid until the next call. What they may be
   * off by says {@link error}.
   */
  score(query: Float32Array, slots?: readonly number[]): Float32Array {
    const scale = this.#writeQuery(query);
    const { kernel } = this.#memory;
    const dot = this.precision === 'f32' ? kernel.dotF32 : kernel.dotI8;
    const at = (slot: number) => this.#rows + slot * this.#stride;
    if (slots === undefined) {
      for (let from = 0; from < this.#count; from += BLOCK) {
        const count = Math.min(BLOCK, this.#count - from);
        dot(at(from), count, this.#stride, this.#query, this.#out);
        this.#take(count, scale, (index) => from + index);
      }
      return this.#scores;
    }
    for (let from = 0; from < slots.length; from += BLOCK) {
      const block = slots.slice(from, from + BLOCK);
      block.forEach((slot, index) => void dot(at(slot), 1, this.#stride, this.#query, this.#out + index * 4));
      this.#take(block.length, scale, (index) => block[index] as number);
    }
    return this.#scores;
  }

  /** The most by which the last score of a slot may be off. */
  error(slot: number): number {
    return this.precision === 'f32' ? 0 : dotError(this.#errors[slot] as number, this.#queryError);
  }

  /** The most by which any of the last scores may be off. */
  get worstError(): number {
    return this.precision === 'f32' ? 0 : dotError(this.#worstRow, this.#queryError);
  }

  /** Takes results of the kernel as scores of the slots. */
  #take(count: number, queryScale: number, slotOf: (index: number) => number): void {
    const buffer = this.#memory.buffer();
    const scores = this.#scores;
    if (this.precision === 'f32') {
      const results = new Float32Array(buffer, this.#out, count);
      for (let index = 0; index < count; index++) scores[slotOf(index)] = results[index] as number;
      return;
    }
    const results = new Int32Array(buffer, this.#out, count);
    const scales = this.#scales;
    for (let index = 0; index < count; index++) {
      const slot = slotOf(index);
      scores[slot] = (results[index] as number) * (scales[slot] as number) * queryScale;
    }
  }

  #writeQuery(query: Float32Array): number {
    if (this.precision === 'f32') {
      new Float32Array(this.#memory.buffer(), this.#query, this.dimensions).set(query);
      return 1;
    }
    const { scale, error } = quantiseQuery(query, new Int16Array(this.#memory.buffer(), this.#query, this.#stride));
    this.#queryError = error;
    return scale;
  }

  #useWasm(rows: number): void {
    const memory = wasmMemory(this.#bytes(Math.max(rows, this.#capacity)));
    if (memory === undefined) return;
    const used = this.#bytes(this.#count);
    new Uint8Array(memory.buffer()).set(new Uint8Array(this.#memory.buffer(), 0, used));
    this.#memory = memory;
    this.#isWasm = true;
  }

  #growBounds(): void {
    this.#scales = grown(this.#scales, this.#capacity);
    this.#errors = grown(this.#errors, this.#capacity);
  }

  #bytes(rows: number): number {
    return this.#rows + rows * this.#stride;
  }
}

function padded(bytes: number, step: number): number {
  return Math.ceil(bytes / step) * step;
}

function grown<T extends Uint32Array | Float32Array>(list: T, length: number): T {
  const more = new (list.constructor as new (length: number) => T)(length);
  more.set(list);
  return more;
}
