import { type Precision, type Results, RowMemory, type RowOptions } from './row-memory.ts';

export type { Precision, RowOptions as SegmentOptions };

/**
 * Unit vectors of one namespace and embedder, one behind the other in one memory, each under a number. A row is a slot;
 * removing moves the last row into the hole, so that a scan never meets one.
 */
export class Segment {
  readonly dimensions: number;
  readonly precision: Precision;
  readonly #memory: RowMemory;
  #count = 0;
  #numbers: Uint32Array;
  #scores: Float32Array;
  /** Of i8: what a row is multiplied by, and what that leaves out. */
  #scales: Float32Array;
  #errors: Float32Array;
  #queryError = 0;
  /** The largest error of a row so far. */
  #worstRow = 0;
  readonly #slots = new Map<number, number>();

  constructor(options: RowOptions) {
    this.dimensions = options.dimensions;
    this.precision = options.precision;
    this.#memory = new RowMemory(options);
    const { capacity } = this.#memory;
    this.#numbers = new Uint32Array(capacity);
    this.#scores = new Float32Array(capacity);
    this.#scales = new Float32Array(this.precision === 'i8' ? capacity : 0);
    this.#errors = new Float32Array(this.#scales.length);
  }

  get count(): number {
    return this.#count;
  }

  /** The approximate size in bytes. */
  get bytes(): number {
    return this.#memory.bytes + this.#memory.capacity * 8 + this.#count * 48;
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
    if (rows <= this.#memory.capacity) return;
    this.#memory.reserve(rows);
    this.#numbers = grown(this.#numbers, rows);
    this.#scores = new Float32Array(rows);
    if (this.precision === 'f32') return;
    this.#scales = grown(this.#scales, rows);
    this.#errors = grown(this.#errors, rows);
  }

  /** Adds a unit vector, or replaces that of the number. */
  set(number: number, vector: Float32Array): void {
    let slot = this.#slots.get(number);
    if (slot === undefined) {
      slot = this.#count;
      if (slot === this.#memory.capacity) this.reserve(Math.ceil(this.#memory.capacity * 1.5));
      this.#count += 1;
      this.#numbers[slot] = number;
      this.#slots.set(number, slot);
    }
    if (this.precision === 'f32') {
      this.#memory.f32Row(slot).set(vector);
      return;
    }
    const { scale, error } = quantiseRow(vector, this.#memory.i8Row(slot));
    this.#scales[slot] = scale;
    this.#errors[slot] = error;
    this.#worstRow = Math.max(this.#worstRow, this.#errors[slot] as number);
  }

  remove(number: number): void {
    const slot = this.#slots.get(number);
    if (slot === undefined) return;
    const last = this.#count - 1;
    this.#memory.move(last, slot);
    if (slot !== last) {
      const moved = this.#numbers[last] as number;
      this.#numbers[slot] = moved;
      this.#slots.set(moved, slot);
      if (this.precision === 'i8') {
        this.#scales[slot] = this.#scales[last] as number;
        this.#errors[slot] = this.#errors[last] as number;
      }
    }
    this.#slots.delete(number);
    this.#count = last;
  }

  /**
   * Scores the given slots, or all, against a unit vector: cosines by slot, valid until the next call. {@link error} bounds their error.
   */
  score(query: Float32Array, slots?: readonly number[]): Float32Array {
    const scale = this.#writeQuery(query);
    if (slots === undefined) this.#memory.scan(this.#count, (results, from) => this.#take(results, scale, from));
    else {
      this.#memory.scanSlots(slots, (results, block) => {
        for (let index = 0; index < block.length; index++) {
          const slot = block[index] as number;
          this.#scores[slot] = (results[index] as number) * (this.#scales[slot] ?? 1) * scale;
        }
      });
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

  /** Releases its shared memory. */
  dispose(): void {
    this.#memory.dispose();
  }

  #take(results: Results, queryScale: number, from: number): void {
    if (this.precision === 'f32') {
      this.#scores.set(results, from);
      return;
    }
    const scores = this.#scores;
    const scales = this.#scales;
    for (let index = 0, slot = from; index < results.length; index++, slot++) {
      scores[slot] = (results[index] as number) * (scales[slot] as number) * queryScale;
    }
  }

  #writeQuery(query: Float32Array): number {
    if (this.precision === 'f32') {
      this.#memory.f32Query().set(query);
      return 1;
    }
    const { scale, error } = quantiseQuery(query, this.#memory.i16Query());
    this.#queryError = error;
    return scale;
  }
}

function grown<T extends Uint32Array | Float32Array>(list: T, length: number): T {
  const more = new (list.constructor as new (length: number) => T)(length);
  more.set(list);
  return more;
}

/** A vector as integers: `vector ≈ scale × values`; `error` is the length of the difference. */
interface Quantised {
  readonly scale: number;
  readonly error: number;
}

const I8_MAX = 127;
const I16_MAX = 32_767;
const I32_MAX = 2_147_483_647;

/** Writes a vector as i8. The vector is not all zeros. */
function quantiseRow(vector: Float32Array, into: Int8Array): Quantised {
  return quantise(vector, into, I8_MAX);
}

/** Writes a query as i16, with so many levels that no dot product with a row passes 32 bits. */
function quantiseQuery(query: Float32Array, into: Int16Array): Quantised {
  return quantise(query, into, Math.min(I16_MAX, Math.floor(I32_MAX / (I8_MAX * into.length))));
}

function quantise(vector: Float32Array, into: Int8Array | Int16Array, levels: number): Quantised {
  const { length } = vector;
  let max = 0;
  for (let index = 0; index < length; index++) max = Math.max(max, Math.abs(vector[index] as number));
  const scale = max / levels;
  const toInteger = levels / max;
  let squares = 0;
  for (let index = 0; index < length; index++) {
    const value = vector[index] as number;
    // A tenth of the time of Math.round, and what it rounds otherwise is in the error as well.
    const integer = Math.floor(value * toInteger + 0.5);
    into[index] = integer;
    squares += (value - integer * scale) ** 2;
  }
  return { scale, error: Math.sqrt(squares) };
}

/**
 * How far the dot product of two unit vectors may be from that of their quantised forms, by Cauchy and Schwarz:
 * |q·v − q̂·v̂| ≤ |q|·|v − v̂| + |v̂|·|q − q̂|. A little is added for what f32 rounds.
 */
function dotError(rowError: number, queryError: number): number {
  return rowError + (1 + rowError) * queryError + 1e-6;
}
