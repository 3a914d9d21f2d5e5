import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/memory/vectors/row-memory.ts';
import { scanThreads } from '../../src/memory/vectors/scan-threads.ts';
import { type Precision, Segment } from '../../src/memory/vectors/segment.ts';

const ROWS = 20_000;
const DIMENSIONS = 32;

function vectorOf(seed: number): Float32Array {
  const values = Array.from({ length: DIMENSIONS }, (_, place) => Math.sin(seed * 12.9898 + place * 78.233));
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
}

function segmentOf(precision: Precision, threadsFrom: number, rows = ROWS): Segment {
  const segment = new Segment({ dimensions: DIMENSIONS, precision, kernel: 'wasm', threadsFrom });
  segment.reserve(rows);
  for (let row = 0; row < rows; row++) segment.set(row, vectorOf(row));
  return segment;
}

/** Lets threads run: they start and take blocks while the caller does something else. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

describe.skipIf(scanThreads() === undefined)('threads', () => {
  it.each<Precision>(['f32', 'i8'])('score every row of %s as one alone does, scan after scan', async (precision) => {
    const [alone, many] = [segmentOf(precision, Number.POSITIVE_INFINITY), segmentOf(precision, 0)];
    for (let query = 0; query < 60; query++) {
      const vector = vectorOf(-query);
      const scores = many.score(vector).slice(0, ROWS);
      expect(scores).toEqual(alone.score(vector).slice(0, ROWS));
      if (query % 10 === 0) await turn();
    }
    many.dispose();
  });

  it('follow two segments that grow, change and shrink', async () => {
    const pairs = [0, 1].map(() => [segmentOf('i8', Number.POSITIVE_INFINITY, 3_000), segmentOf('i8', 0, 3_000)]);
    for (let round = 0; round < 30; round++) {
      for (const [index, [alone, many]] of pairs.entries()) {
        for (const segment of [alone, many]) {
          for (let row = 0; row < 500; row++) segment?.set(3_000 + round * 500 + row, vectorOf(row + index));
          segment?.remove(round);
        }
        const vector = vectorOf(-round);
        const count = alone?.count ?? 0;
        expect(many?.score(vector).slice(0, count)).toEqual(alone?.score(vector).slice(0, count));
      }
      if (round % 7 === 0) await turn();
    }
    for (const [, many] of pairs) many?.dispose();
    const later = segmentOf('f32', 0);
    expect(later.score(vectorOf(5)).slice(0, ROWS)).toEqual(
      segmentOf('f32', Number.POSITIVE_INFINITY).score(vectorOf(5)).slice(0, ROWS),
    );
    later.dispose();
  });

  it('keep no process alive, with a segment in use or without', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-threads-'));
    const segment = pathToFileURL(join(import.meta.dirname, '../../src/memory/vectors/segment.ts'));
    for (const end of ['', 'segment.dispose();']) {
      const file = join(folder, 'child.ts');
      writeFileSync(
        file,
        `import { Segment } from ${JSON.stringify(segment.href)};
         const segment = new Segment({ dimensions: 4, precision: 'f32', kernel: 'wasm', threadsFrom: 0 });
         for (let row = 0; row < 5_000; row++) segment.set(row, Float32Array.of(1, 0, 0, 0));
         segment.score(Float32Array.of(1, 0, 0, 0));
         await new Promise((resolve) => setTimeout(resolve, 100));
         console.log(segment.score(Float32Array.of(1, 0, 0, 0))[4_999]);
         ${end}`,
      );
      const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 20_000 });
      expect(stdout).toBe('1\n');
    }
    rmSync(folder, { recursive: true });
  });
});

describe('the pace', () => {
  /** What share of the last 320 of 400 scans threads took part in, where they take so many times as long. */
  function share(factor: (scan: number) => number): number {
    const pace = new Pace();
    let shared = 0;
    for (let scan = 0; scan < 400; scan++) {
      const together = pace.next();
      if (together && scan >= 80) shared += 1;
      pace.took(together, together ? factor(scan) : 1, 1_000);
    }
    return shared / 320;
  }

  it('lets threads take part where that is faster, and tries the other way now and then', () => {
    expect(share(() => 0.6)).toBeGreaterThan(0.9);
    expect(share(() => 2.5)).toBeLessThan(0.1);
    expect(share(() => 0.6)).toBeLessThan(1);
    expect(share(() => 2.5)).toBeGreaterThan(0);
  });

  it('follows a machine that becomes busy', () => {
    expect(share((scan) => (scan < 80 ? 0.6 : 2.5))).toBeLessThan(0.15);
    expect(share((scan) => (scan < 80 ? 2.5 : 0.6))).toBeGreaterThan(0.5);
  });
});
