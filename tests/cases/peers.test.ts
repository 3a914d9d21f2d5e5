import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { coxswain } from '../../bench/conformance/contenders/coxswain.ts';
import { ROWS } from '../../bench/conformance/rows/index.ts';
import { weightOf } from '../../bench/conformance/rows/weight.ts';
import { naive } from './naive-contender.ts';

describe.each(ROWS.map((row) => [row.title, row] as const))('%s', (_title, row) => {
  test(`coxswain: ${row.good}`, async () => {
    expect(await row.play(coxswain)).toMatchObject({ ok: true });
  });

  test('a loop that does not care fails', async () => {
    const finding = await row.play(naive);
    expect(finding.ok, finding.saw).toBe(false);
    expect(finding.saw).not.toMatch(/threw/);
  });
});

test('a row is one failure, and has a name of its own', () => {
  expect(new Set(ROWS.map(({ id }) => id)).size).toBe(ROWS.length);
  expect(ROWS).toHaveLength(11);
});

test('the weight of an installation counts nested packages and the import alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weight-'));
  try {
    expect(() => weightOf(folder, 'node:fs')).toThrow('node_modules');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { packages, megabytes } = weightOf(join(import.meta.dirname, '../..'), 'node:fs');
  expect(packages).toBeGreaterThan(50);
  expect(megabytes).toBeGreaterThan(20);
});
