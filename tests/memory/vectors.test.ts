import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kernelModule } from '../../scripts/build-kernel.ts';
import { unitVector } from '../../src/memory/vectors/cosine-similarity.ts';
import { plainMemory, type ScanMemory, wasmMemory } from '../../src/memory/vectors/kernel.ts';
import { rank } from '../../src/memory/vectors/rank.ts';
import { type Precision, Segment } from '../../src/memory/vectors/segment.ts';
import { TopK } from '../../src/memory/vectors/top-k.ts';

describe('the kernel', () => {
  it('is what its source assembles to', () => {
    const checkedIn = readFileSync(new URL('../../src/memory/vectors/kernel-bytes.ts', import.meta.url), 'utf8');
    expect(checkedIn).toBe(kernelModule());
  });

  it('gives what plain TypeScript gives', () => {
    const rows = fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 48, maxLength: 48 });
    fc.assert(
      fc.property(fc.array(rows, { minLength: 1, maxLength: 5 }), rows, (list, query) => {
        const [wasm, plain] = [wasmMemory(65_536), plainMemory(65_536)];
        if (wasm === undefined) throw new Error('this engine has no WebAssembly');
        const floats = [wasm, plain].map((memory) => floatDots(memory, list, query));
        floats[0]?.forEach((value, index) => void expect(value).toBeCloseTo(floats[1]?.[index] ?? Number.NaN, 4));
        const [ours, theirs] = [wasm, plain].map((memory) => wholeDots(memory, list, query));
        expect(ours).toEqual(theirs);
      }),
      { numRuns: 50 },
    );
  });
});

/** Rows at 4096, query at 0, results at 1024. */
function floatDots({ kernel, buffer }: ScanMemory, list: readonly number[][], query: readonly number[]): number[] {
  new Float32Array(buffer(), 0, 48).set(query);
  for (const [index, row] of list.entries()) new Float32Array(buffer(), 4096 + index * 192, 48).set(row);
  kernel.dotF32(4096, list.length, 192, 0, 1024);
  return [...new Float32Array(buffer(), 1024, list.length)];
}

function wholeDots({ kernel, buffer }: ScanMemory, list: readonly number[][], query: readonly number[]): number[] {
  new Int16Array(buffer(), 0, 64).fill(0).set(query.map((value) => value * 32_767));
  for (const [index, row] of list.entries()) {
    new Int8Array(buffer(), 4096 + index * 64, 64).fill(0).set(row.map((value) => value * 127));
  }
  kernel.dotI8(4096, list.length, 64, 0, 1024);
  return [...new Int32Array(buffer(), 1024, list.length)];
}

describe('a segment', () => {
  const DIMENSIONS = 5;
  const number = fc.double({ min: -1, max: 1, noNaN: true });
  const vector = fc
    .array(number, { minLength: DIMENSIONS, maxLength: DIMENSIONS })
    .map((list) => unitVector(list))
    .filter((unit) => unit !== undefined);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ set: fc.nat({ max: 40 }), vector }) },
    fc.record({ remove: fc.nat({ max: 40 }) }),
  );
  const filter = fc.option(fc.uniqueArray(fc.nat({ max: 45 })), { nil: undefined });

  it.each<[Precision, 'plain' | 'wasm', string, number?]>([
    ['f32', 'plain', 'alone'],
    ['f32', 'wasm', 'alone'],
    ['i8', 'plain', 'alone'],
    ['i8', 'wasm', 'alone'],
    ['f32', 'wasm', 'with threads', 0],
    ['i8', 'wasm', 'with threads', 0],
  ])(
    'of %s ranks by the %s kernel %s as a sort of all does, whatever was set, removed and allowed',
    (precision, kernel, _, threadsFrom) => {
      fc.assert(
        fc.property(
          fc.array(step, { maxLength: 80 }),
          vector,
          filter,
          fc.integer({ min: 1, max: 12 }),
          (steps, query, list, k) => {
            const segment = new Segment({ dimensions: DIMENSIONS, precision, kernel, threadsFrom });
            const held = new Map<number, Float32Array>();
            for (const change of steps) {
              if ('remove' in change) {
                segment.remove(change.remove);
                held.delete(change.remove);
              } else {
                segment.set(change.set, change.vector);
                held.set(change.set, change.vector);
              }
            }
            expect(segment.count).toBe(held.size);
            const allowed =
              list === undefined ? undefined : { numbers: list, has: (one: number) => list.includes(one) };
            const exact = (one: number) => held.get(one) ?? new Float32Array(DIMENSIONS);
            const found = rank(segment, { vector: query, k, allowed, exact });
            const expected = [...held]
              .filter(([one]) => allowed?.has(one) ?? true)
              .map(([one, unit]) => ({
                one,
                score: unit.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0),
              }))
              .sort((a, b) => b.score - a.score)
              .slice(0, k);
            expect(found.map(({ score }) => score.toFixed(4).replace('-0.0000', '0.0000'))).toEqual(
              expected.map(({ score }) => score.toFixed(4).replace('-0.0000', '0.0000')),
            );
            for (const { number: one, score } of found) {
              const unit = exact(one);
              expect(unit.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0)).toBeCloseTo(score, 5);
            }
            segment.dispose();
          },
        ),
        { numRuns: 60 },
      );
    },
  );

  it.each<Precision>(['f32', 'i8'])('of %s ranks by words and age too as a sort of all does', (precision) => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const row = fc.record({ vector, words: fc.oneof(fc.constant(0), share), age: share });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), vector, filter, fc.nat({ max: 5 }), (rows, query, list, more) => {
        const segment = new Segment({ dimensions: DIMENSIONS, precision, kernel: 'wasm' });
        rows.forEach((one, index) => void segment.set(index, one.vector));
        const words = Float64Array.from(rows, (one) => one.words * 4);
        const fusion = { weight: 0.6, words, scale: 0.1, age: (one: number) => rows[one]?.age ?? 0 };
        const allowed = list && { numbers: list, has: (one: number) => list.includes(one) };
        const exact = (one: number) => rows[one]?.vector ?? new Float32Array(DIMENSIONS);
        const found = rank(segment, { vector: query, k: 1 + more, allowed, exact, fusion });
        const scores = rows.flatMap((one, index) => {
          if (allowed?.has(index) === false) return [];
          const cosine = one.vector.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
          return [one.age * (0.6 * Math.max(0, cosine) + 0.4 * one.words)];
        });
        const expected = scores.sort((a, b) => b - a).slice(0, 1 + more);
        expect(found).toHaveLength(expected.length);
        found.forEach(({ score }, index) => void expect(score).toBeCloseTo(expected[index] ?? Number.NaN, 5));
      }),
      { numRuns: 100 },
    );
  });

  it('keeps its rows when it grows past what is scanned without WebAssembly', () => {
    const segment = new Segment({ dimensions: 3, precision: 'f32' });
    for (let row = 0; row < 3_000; row++) segment.set(row, unitVector([1, row, 1]) ?? new Float32Array(3));
    const vector = unitVector([1, 0, 1]) ?? new Float32Array(3);
    const found = rank(segment, { vector, k: 3, exact: () => vector });
    expect(found.map((hit) => hit.number)).toEqual([0, 1, 2]);
  });
});

describe('TopK', () => {
  it('keeps what a sort would, equal scores by number', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 })), fc.integer({ min: 1, max: 8 }), (scores, k) => {
        const top = new TopK(k);
        scores.forEach((score, number) => void top.offer(number, score));
        const all = scores.map((score, number) => ({ number, score }));
        expect(top.sorted()).toEqual(all.sort((a, b) => b.score - a.score || a.number - b.number).slice(0, k));
      }),
    );
  });
});
