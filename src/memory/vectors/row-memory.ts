import { F32_STEP, I8_STEP, plainMemory, type ScanMemory, wasmMemory } from './kernel.ts';
import { MOST_BLOCKS, type ScanThreads, scanThreads } from './scan-threads.ts';

/** `i8` needs a quarter of the bytes and gives approximations with an error bound; `f32` is exact. */
export type Precision = 'f32' | 'i8';

export interface RowOptions {
  readonly dimensions: number;
  readonly precision: Precision;
  /** Default: WASM from {@link WASM_ROWS} rows on, where there is WebAssembly with SIMD. */
  readonly kernel?: 'plain' | 'wasm' | undefined;
  /** From so many bytes on threads scan too, always; default: from {@link THREADS_FROM} on, where that is faster. */
  readonly threadsFrom?: number | undefined;
}

/** Below this the memory of a WebAssembly module costs more than it saves. */
const WASM_ROWS = 1_024;
/** Below this threads are hardly awake when the scan is over. */
const THREADS_FROM = 33_554_432;
/** Rows of one call of the kernel: its results stay in the processor's cache. */
const BLOCK = 1_024;
/** Buffers for the results of one block: the caller's, and one for each thread. */
const OUTS = 4;
const FIRST_ROWS = 16;

/** Results of a block, f32 or i32 as the rows are. */
export type Results = Float32Array | Int32Array;

/** Rows of equal length in one memory, with buffers for a query and for results, and the kernel that scans them. */
export class RowMemory {
  readonly #options: RowOptions;
  readonly #isF32: boolean;
  readonly #stride: number;
  /** Query, then results of blocks, then rows. */
  readonly #query = 0;
  readonly #outs: number;
  readonly #rows: number;
  #memory: ScanMemory;
  #capacity = FIRST_ROWS;
  readonly #pace = new Pace();
  #threads: { readonly all: ScanThreads; readonly id: number } | undefined;

  constructor(options: RowOptions) {
    const { dimensions, precision, kernel } = options;
    this.#options = options;
    this.#isF32 = precision === 'f32';
    this.#stride = this.#isF32 ? padded(dimensions * 4, F32_STEP) : padded(dimensions, I8_STEP);
    this.#outs = this.#isF32 ? this.#stride : this.#stride * 2;
    this.#rows = padded(this.#outs + OUTS * BLOCK * 4, F32_STEP);
    this.#memory = plainMemory(this.#bytesOf(FIRST_ROWS));
    if (kernel === 'wasm') this.#useWasm(FIRST_ROWS);
  }

  get capacity(): number {
    return this.#capacity;
  }

  get bytes(): number {
    return this.#bytesOf(this.#capacity);
  }

  /** Makes room for so many rows. */
  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    if (rows >= WASM_ROWS && this.#memory.shared === undefined && this.#options.kernel !== 'plain') this.#useWasm(rows);
    this.#memory.grow(this.#bytesOf(rows));
    this.#capacity = rows;
    this.#enterThreads();
  }

  f32Row(slot: number): Float32Array {
    return new Float32Array(this.#memory.buffer(), this.#at(slot), this.#options.dimensions);
  }

  i8Row(slot: number): Int8Array {
    return new Int8Array(this.#memory.buffer(), this.#at(slot), this.#options.dimensions);
  }

  /** Moves one row over another and zeroes its old position. */
  move(from: number, to: number): void {
    const bytes = new Uint8Array(this.#memory.buffer());
    if (from !== to) bytes.copyWithin(this.#at(to), this.#at(from), this.#at(from) + this.#stride);
    bytes.fill(0, this.#at(from), this.#at(from) + this.#stride);
  }

  f32Query(): Float32Array {
    return new Float32Array(this.#memory.buffer(), this.#query, this.#options.dimensions);
  }

  i16Query(): Int16Array {
    return new Int16Array(this.#memory.buffer(), this.#query, this.#stride);
  }

  /** Scores the first rows, block by block in any order: `take` receives the first row of each. */
  scan(count: number, take: (results: Results, from: number) => void): void {
    const score = (from: number, length: number) => {
      this.#dot(from, length, this.#outs);
      take(this.#results(length), from);
    };
    const began = performance.now();
    const together = this.#isShared(count);
    if (together) this.#scanTogether(count, score, take);
    else for (let from = 0; from < count; from += BLOCK) score(from, Math.min(BLOCK, count - from));
    if (this.#threads !== undefined) this.#pace.took(together, performance.now() - began, count * this.#stride);
  }

  #isShared(count: number): boolean {
    const { threadsFrom } = this.#options;
    if (count * this.#stride < (threadsFrom ?? THREADS_FROM) || count > MOST_BLOCKS * BLOCK) return false;
    return this.#useThreads() && (threadsFrom !== undefined || this.#pace.next());
  }

  #scanTogether(
    count: number,
    score: (from: number, length: number) => void,
    take: (results: Results, from: number) => void,
  ): void {
    const scan = { count, block: BLOCK, rows: this.#rows, stride: this.#stride, query: this.#query };
    this.#threads?.all.scan(
      this.#threads.id,
      { ...scan, isI8: !this.#isF32 },
      {
        score,
        take: (from, results) =>
          take(this.#isF32 ? new Float32Array(results.buffer, results.byteOffset, results.length) : results, from),
      },
    );
  }

  /** Scores these rows: `take` receives the slots of each block. */
  scanSlots(slots: readonly number[], take: (results: Results, block: readonly number[]) => void): void {
    for (let from = 0; from < slots.length; from += BLOCK) {
      const block = slots.slice(from, from + BLOCK);
      block.forEach((slot, index) => void this.#dot(slot, 1, this.#outs + index * 4));
      take(this.#results(block.length), block);
    }
  }

  /** Lets threads forget it. */
  dispose(): void {
    this.#threads?.all.leave(this.#threads.id);
    this.#threads = undefined;
  }

  #dot(from: number, count: number, out: number): void {
    const { kernel } = this.#memory;
    if (this.#isF32) kernel.dotF32(this.#at(from), count, this.#stride, this.#query, out);
    else kernel.dotI8(this.#at(from), count, this.#stride, this.#query, out);
  }

  #results(count: number): Results {
    const buffer = this.#memory.buffer();
    return this.#isF32 ? new Float32Array(buffer, this.#outs, count) : new Int32Array(buffer, this.#outs, count);
  }

  #useThreads(): boolean {
    if (this.#threads === undefined && this.#memory.shared !== undefined) {
      const all = scanThreads();
      if (all !== undefined) this.#threads = { all, id: all.newId() };
      this.#enterThreads();
    }
    return this.#threads !== undefined;
  }

  #enterThreads(): void {
    const { shared } = this.#memory;
    if (this.#threads === undefined || shared === undefined) return;
    const { all, id } = this.#threads;
    const outs = Array.from({ length: all.size }, (_, index) => this.#outs + (index + 1) * BLOCK * 4);
    all.enter(id, shared, this.#capacity, BLOCK, outs);
  }

  #useWasm(rows: number): void {
    const memory = wasmMemory(this.#bytesOf(Math.max(rows, this.#capacity)));
    if (memory === undefined) return;
    new Uint8Array(memory.buffer()).set(new Uint8Array(this.#memory.buffer()));
    this.#memory = memory;
  }

  #at(slot: number): number {
    return this.#rows + slot * this.#stride;
  }

  #bytesOf(rows: number): number {
    return this.#rows + rows * this.#stride;
  }
}

function padded(bytes: number, step: number): number {
  return Math.ceil(bytes / step) * step;
}

/** How often both methods are tried in turn at first, and after how many scans the slower one is tried again. */
const TRIALS = 8;
const AGAIN = 32;
/** Weight of the newest measure. */
const NEWEST = 0.3;

/**
 * Whether threads make scans faster on this machine at this time: where other work keeps its processors busy, they make them
 * slower. Decided by what scans of both kinds took.
 */
export class Pace {
  #scans = 0;
  /** Milliseconds a byte, newer scans weighing more; undefined where there was none. */
  #alone: number | undefined;
  #together: number | undefined;

  /** True where the next scan is to be shared with threads. */
  next(): boolean {
    this.#scans += 1;
    if (this.#alone === undefined || this.#together === undefined || this.#scans <= TRIALS)
      return this.#scans % 2 === 0;
    const isFaster = this.#together < this.#alone;
    return this.#scans % AGAIN === 0 ? !isFaster : isFaster;
  }

  took(together: boolean, ms: number, bytes: number): void {
    const pace = ms / bytes;
    const before = together ? this.#together : this.#alone;
    const now = before === undefined ? pace : before * (1 - NEWEST) + pace * NEWEST;
    if (together) this.#together = now;
    else this.#alone = now;
  }
}
