import { readFileSync } from 'node:fs';
import { assemble } from '../scripts/assemble.ts';
import { rank } from '../src/memory/vectors/rank.ts';
import { Segment } from '../src/memory/vectors/segment.ts';

const TOP = 10;
const QUERIES = 5;

/** Milliseconds, the least of the rounds: what the machine's other work adds is no figure of ours. */
export interface ScanFigures {
  readonly title: string;
  readonly read: number;
  readonly f32: number;
  readonly i8: number;
  /** As i8, with threads. */
  readonly threads: number;
  readonly plain: number;
  readonly objects: number | undefined;
  /** Exact search of usearch, if it is installed. */
  readonly usearch: number | undefined;
  /** Share of the exact ten that were found. */
  readonly recallF32: number;
  readonly recallI8: number;
}

/** Top ten of `rows` unit vectors: exact, approximate with rescoring, and by what one would write first. */
export async function scanFigures(rows: number, dimensions: number, rounds: number): Promise<ScanFigures> {
  const random = generator(rows + dimensions);
  const all = new Float32Array(rows * dimensions);
  for (let row = 0; row < rows; row++) all.set(randomUnit(dimensions, random), row * dimensions);
  const at = (row: number) => all.subarray(row * dimensions, (row + 1) * dimensions);
  const f32 = segmentOf('f32', 'wasm', rows, dimensions, at);
  const i8 = segmentOf('i8', 'wasm', rows, dimensions, at);
  const threaded = segmentOf('i8', 'wasm', rows, dimensions, at, 0);
  const queries = Array.from({ length: QUERIES }, () => randomUnit(dimensions, random));
  const read = reader(rows * dimensions * 4);
  const few = rows <= 100_000;
  const objects =
    few && dimensions < 1_000
      ? Array.from({ length: rows }, (_, id) => ({ id, vector: Array.from(at(id)) }))
      : undefined;

  const least = { read: Infinity, f32: Infinity, i8: Infinity, threads: Infinity, plain: Infinity, objects: Infinity };
  let hitsF32 = 0;
  let hitsI8 = 0;
  for (let round = 0; round < rounds; round++) {
    const vector = queries[round % QUERIES] as Float32Array;
    const exact = at;
    least.read = Math.min(least.read, timed(read).ms);
    const fromF32 = timed(() => rank(f32, { vector, k: TOP, exact }));
    const fromI8 = timed(() => rank(i8, { vector, k: TOP, exact }));
    least.f32 = Math.min(least.f32, fromF32.ms);
    least.i8 = Math.min(least.i8, fromI8.ms);
    least.threads = Math.min(least.threads, timed(() => rank(threaded, { vector, k: TOP, exact })).ms);
    // Threads that begin have time to.
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (round >= QUERIES) continue;
    const plain = timed(() => plainScan(all, dimensions, vector));
    least.plain = Math.min(least.plain, plain.ms);
    if (objects !== undefined) least.objects = Math.min(least.objects, timed(() => objectScan(objects, vector)).ms);
    hitsF32 += fromF32.value.filter(({ number }) => plain.value.has(number)).length;
    hitsI8 += fromI8.value.filter(({ number }) => plain.value.has(number)).length;
  }
  threaded.dispose();
  const asked = Math.min(rounds, QUERIES) * TOP;
  return {
    title: `${rows.toLocaleString('en')} × ${dimensions}`,
    ...least,
    objects: objects === undefined ? undefined : least.objects,
    usearch: few ? await usearch(all, dimensions, queries) : undefined,
    recallF32: hitsF32 / asked,
    recallI8: hitsI8 / asked,
  };
}

function segmentOf(
  precision: 'f32' | 'i8',
  kernel: 'wasm',
  rows: number,
  dimensions: number,
  at: (row: number) => Float32Array,
  threadsFrom = Number.POSITIVE_INFINITY,
): Segment {
  const segment = new Segment({ dimensions, precision, kernel, threadsFrom });
  segment.reserve(rows);
  for (let row = 0; row < rows; row++) segment.set(row, at(row));
  return segment;
}

/** Reads as many bytes once, with the widest loads that WebAssembly has. */
function reader(bytes: number): () => void {
  const { Module, Instance, Memory } = (
    globalThis as never as { WebAssembly: Record<string, new (...args: unknown[]) => never> }
  ).WebAssembly as Record<
    string,
    new (
      ...args: unknown[]
    ) => { buffer: ArrayBuffer; exports: { read: (...offsets: number[]) => void } }
  >;
  if (Module === undefined || Instance === undefined || Memory === undefined) throw new Error('no WebAssembly');
  const memory = new Memory({ initial: Math.ceil(bytes / 65_536) + 1 });
  new Uint8Array(memory.buffer).fill(3);
  const module = new Module(assemble(readFileSync(new URL('read.wat', import.meta.url), 'utf8')));
  const { read } = new Instance(module, { env: { memory } }).exports;
  return () => read(64, 64 + bytes, 0);
}

/** It is no dependency: without it there is no figure. */
async function usearch(
  all: Float32Array,
  dimensions: number,
  queries: readonly Float32Array[],
): Promise<number | undefined> {
  const name = 'usearch';
  const loaded = await import(name).catch(() => undefined);
  if (loaded === undefined) return undefined;
  const search = (query: Float32Array) => loaded.exactSearch(all, query, dimensions, TOP, 'ip');
  return Math.min(...queries.map((query) => timed(() => search(query)).ms));
}

/** The oracle: every row in 64 bits, sorted. */
function plainScan(all: Float32Array, dimensions: number, query: Float32Array): Set<number> {
  const count = all.length / dimensions;
  const scores = new Float64Array(count);
  for (let row = 0, node = 0; row < count; row++) {
    let sum = 0;
    for (let index = 0; index < dimensions; index++) sum += (all[node++] as number) * (query[index] as number);
    scores[row] = sum;
  }
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  return new Set(order.sort((a, b) => (scores[b] as number) - (scores[a] as number)).subarray(0, TOP));
}

function objectScan(objects: readonly { id: number; vector: readonly number[] }[], query: Float32Array): number[] {
  return objects
    .map(({ id, vector }) => {
      let dot = 0;
      let norm = 0;
      for (let index = 0; index < vector.length; index++) {
        dot += (vector[index] as number) * (query[index] as number);
        norm += (vector[index] as number) ** 2;
      }
      return { id, score: dot / Math.sqrt(norm) };
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, TOP)
    .map(({ id }) => id);
}

export function timed<T>(work: () => T): { ms: number; value: T } {
  const began = performance.now();
  const value = work();
  return { ms: performance.now() - began, value };
}

export function randomUnit(dimensions: number, random: () => number): Float32Array {
  const vector = new Float32Array(dimensions);
  let squares = 0;
  for (let index = 0; index < dimensions; index++) {
    const value = random() + random() + random() - 1.5;
    vector[index] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  for (let index = 0; index < dimensions; index++) vector[index] = (vector[index] as number) / length;
  return vector;
}

/** Numbers from 0 to 1, the same for a seed (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
