import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundJson, boundText } from '../../src/core/values/bound-json.ts';
import type { Json } from '../../src/core/values/json.ts';
import { atPointer } from '../../src/core/values/json-pointer.ts';
import { tries } from '../support/tries.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 3_000 });
const long = fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 900 }));
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.constantFrom<Json>(null, true, 3, 'short'),
      long.map(([word, times]) => word.repeat(times)),
    ),
    fc.array(tie('value'), { maxLength: 30 }),
    fc.dictionary(fc.string({ maxLength: 6 }), tie('value'), { maxKeys: 6 }),
  ),
})).value;

const NOTE = /\n\[… (\d+) characters left out(?:: read_result ref=(\S+) from=(\d+))? …\]\n/;

describe('a text that is bounded', () => {
  it(`keeps front and back, never more than it may, and says what is between (${tries(10_000, 2_000)} cases)`, () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 2_000 }), fc.boolean(), (whole, max, hasRef) => {
        const bounded = boundText(whole, max, hasRef ? 'lead/2.0' : undefined);
        if (whole.length <= max) return bounded === whole;
        const found = NOTE.exec(bounded);
        const front = bounded.slice(0, found?.index);
        const back = bounded.slice((found?.index ?? 0) + (found?.[0].length ?? 0));
        expect(bounded.length).toBeLessThanOrEqual(Math.max(max, found?.[0].length ?? 0));
        expect(whole.startsWith(front) && whole.endsWith(back)).toBe(true);
        expect(Number(found?.[1])).toBe(whole.length - front.length - back.length);
        expect(front.isWellFormed() && back.isWellFormed()).toBe(whole.isWellFormed());
        if (hasRef) expect([found?.[2], Number(found?.[3])]).toEqual(['lead/2.0', front.length]);
        return true;
      }),
      { numRuns: tries(10_000, 2_000) },
    );
  });
});

describe('JSON that is bounded by field', () => {
  it(`is JSON of the same shape within its bound, whose short texts are whole (${tries(3_000, 600)} cases)`, () => {
    let cut = 0;
    fc.assert(
      fc.property(value, fc.integer({ min: 1_000, max: 9_000 }), (whole, max) => {
        const bounded = boundJson(JSON.stringify(whole), max, 'r');
        if (bounded === undefined) return;
        expect(bounded.length).toBeLessThanOrEqual(max);
        if (bounded !== JSON.stringify(whole)) cut += 1;
        compare(whole, JSON.parse(bounded) as Json);
        for (const [, left, pointer = '', from] of bounded.matchAll(
          /(\d+) characters left out: read_result ref=r#(\S*) from=(\d+)/g,
        )) {
          const part = atPointer(whole, JSON.parse(`"${pointer}"`));
          if (typeof part !== 'string') throw new Error(`${pointer} leads to no text`);
          expect(part.length).toBeGreaterThanOrEqual(Number(left) + Number(from));
        }
      }),
      { numRuns: tries(3_000, 600) },
    );
    expect(cut).toBeGreaterThan(tries(200, 40));
  });

  it('cuts the longest first, all to one length', () => {
    const evidence = { source: 'https://example.org/a', quote: 'q'.repeat(300), page: 'p'.repeat(20_000) };
    const bounded = JSON.parse(boundJson(JSON.stringify({ evidence: [evidence] }), 2_000, 'lead/1.0') ?? '');
    expect(bounded.evidence[0]).toMatchObject({ source: evidence.source, quote: evidence.quote });
    expect(bounded.evidence[0].page).toMatch(
      /^p+\n\[… \d+ characters left out: read_result ref=lead\/1\.0#\/evidence\/0\/page from=\d+ …\]\np+$/,
    );
  });

  it('shortens lists where shorter texts do not do, and gives up where neither does', () => {
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ n }));
    const bounded = JSON.parse(boundJson(JSON.stringify({ rows }), 1_000, 'r') ?? '');
    const at = bounded.rows.findIndex((row: unknown) => typeof row === 'string');
    expect(bounded.rows[at]).toMatch(/^\[… \d+ items left out: read_result ref=r#\/rows …\]$/);
    expect(bounded.rows[0]).toEqual({ n: 0 });
    expect(bounded.rows.at(-1)).toEqual({ n: 4_999 });
    const wide = Object.fromEntries(rows.map(({ n }) => [`key${n}`, n]));
    expect(boundJson(JSON.stringify(wide), 1_000)).toBeUndefined();
  });

  it('bounds megabytes as well', () => {
    const large = { pages: Array.from({ length: 50 }, () => 'x'.repeat(100_000)), rows: new Array(100_000).fill(1) };
    expect(boundJson(JSON.stringify(large), 20_000)?.length).toBeLessThanOrEqual(20_000);
  });
});

function compare(whole: Json, bounded: Json): void {
  if (typeof whole === 'string') {
    expect(typeof bounded).toBe('string');
    if (whole.length <= 200) expect(bounded).toBe(whole);
    else if (bounded !== whole) expect(bounded).toMatch(NOTE);
    return;
  }
  if (whole === null || typeof whole !== 'object') {
    expect(bounded).toEqual(whole);
    return;
  }
  if (Array.isArray(whole)) {
    expect(Array.isArray(bounded)).toBe(true);
    const list = bounded as readonly Json[];
    if (list.length === whole.length) for (const [index, item] of list.entries()) compare(whole[index] as Json, item);
    else expect(list.some((item) => typeof item === 'string' && item.includes('items left out'))).toBe(true);
    return;
  }
  expect(Object.keys(bounded as object)).toEqual(Object.keys(whole));
  for (const [key, item] of Object.entries(bounded as { [key: string]: Json }))
    compare((whole as { [key: string]: Json })[key] as Json, item);
}
