import { KERNEL_BYTES } from './kernel-bytes.ts';

/** Dot products of `count` rows with a query, one result per row. All positions are byte offsets in one memory. */
export type DotRows = (row: number, count: number, bytes: number, query: number, out: number) => void;

/** What scans a segment. `dotF32`: rows and query of f32, results f32. `dotI8`: rows of i8, query of i16, results i32. */
export interface Kernel {
  readonly dotF32: DotRows;
  readonly dotI8: DotRows;
}

/** Bytes of a row are a multiple of this: the kernel's step. */
export const F32_STEP = 64;
export const I8_STEP = 32;

/** The part of WebAssembly's JavaScript interface that is used: TypeScript declares it for browsers only. */
interface Wasm {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { readonly exports: object };
  Memory: new (options: { initial: number; maximum: number; shared: true }) => SharedMemory;
}

/** A memory that threads can be handed. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

const PAGE = 65_536;
/** The signatures of kernel.wat. */
const MAX_PAGES = 65_536;
let compiled: object | undefined;

/** Bytes that a kernel works on, and may be more of. A buffer does not have those that came since. */
export interface ScanMemory {
  readonly kernel: Kernel;
  /** Where threads can work on it too. */
  readonly shared?: SharedMemory;
  buffer(): ArrayBuffer | SharedArrayBuffer;
  grow(bytes: number): void;
}

/** The kernel as it is compiled; throws where the engine has no WebAssembly or no SIMD. */
export function kernelModule(): object {
  compiled ??= new (webAssembly().Module)(Buffer.from(KERNEL_BYTES, 'base64'));
  return compiled;
}

function webAssembly(): Wasm {
  const { WebAssembly: wasm } = globalThis as { readonly WebAssembly?: Wasm };
  if (wasm === undefined) throw new Error('this engine has no WebAssembly');
  return wasm;
}

/** A memory with the SIMD kernel; undefined where the engine has no WebAssembly or no SIMD. */
export function wasmMemory(bytes: number): ScanMemory | undefined {
  try {
    const { Memory, Instance } = webAssembly();
    const memory = new Memory({ initial: Math.ceil(bytes / PAGE), maximum: MAX_PAGES, shared: true });
    const { exports } = new Instance(kernelModule(), { env: { memory } });
    return {
      shared: memory,
      // What kernel.wat exports.
      kernel: exports as Kernel,
      buffer: () => memory.buffer,
      grow: (size) => {
        const more = size - memory.buffer.byteLength;
        if (more > 0) memory.grow(Math.ceil(more / PAGE));
      },
    };
  } catch {
    return undefined;
  }
}

/** A memory with the kernel in plain TypeScript: the same results, but for the order in which f32 sums round. */
export function plainMemory(bytes: number): ScanMemory {
  let buffer = new ArrayBuffer(bytes);
  return {
    kernel: {
      dotF32: (row, count, length, query, out) => dotF32(buffer, row, count, length / 4, query, out),
      dotI8: (row, count, length, query, out) => dotI8(buffer, row, count, length, query, out),
    },
    buffer: () => buffer,
    grow: (size) => {
      if (size <= buffer.byteLength) return;
      const grown = new ArrayBuffer(size);
      new Uint8Array(grown).set(new Uint8Array(buffer));
      buffer = grown;
    },
  };
}

function dotF32(buffer: ArrayBuffer, row: number, count: number, length: number, query: number, out: number): void {
  const rows = new Float32Array(buffer, row, count * length);
  const q = new Float32Array(buffer, query, length);
  const results = new Float32Array(buffer, out, count);
  for (let index = 0, at = 0; index < count; index++, at += length) {
    let even = 0;
    let odd = 0;
    // Two sums, so that one addition need not wait for the other.
    for (let component = 0; component < length; component += 2) {
      even += (rows[at + component] as number) * (q[component] as number);
      odd += (rows[at + component + 1] as number) * (q[component + 1] as number);
    }
    results[index] = even + odd;
  }
}

function dotI8(buffer: ArrayBuffer, row: number, count: number, length: number, query: number, out: number): void {
  const rows = new Int8Array(buffer, row, count * length);
  const q = new Int16Array(buffer, query, length);
  const results = new Int32Array(buffer, out, count);
  for (let index = 0, at = 0; index < count; index++, at += length) {
    let sum = 0;
    for (let component = 0; component < length; component++)
      sum += (rows[at + component] as number) * (q[component] as number);
    results[index] = sum;
  }
}
