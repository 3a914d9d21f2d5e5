import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../src/core/values/retry.ts';
import { retryAfterMs, waitInWords } from '../../src/models/failure/failure.ts';
import { withRetry } from '../../src/models/index.ts';

describe('retryDelay', () => {
  const failed = { retryable: true };
  test('doubles, by default from one second, three times', () => {
    expect([1, 2, 3, 4].map((attempt) => retryDelay(failed, attempt, {}, 0.5))).toEqual([1000, 2000, 4000, undefined]);
  });
  test('stays within a quarter of the doubled wait and below the cap', () => {
    const options = { retries: 20, baseMs: 100, capMs: 5000 };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, random) => {
          const wait = retryDelay(failed, attempt, options, random) ?? -1;
          const doubled = 100 * 2 ** (attempt - 1);
          expect(wait).toBeGreaterThanOrEqual(Math.min(5000, doubled * 0.75));
          expect(wait).toBeLessThanOrEqual(Math.min(5000, doubled * 1.25));
        },
      ),
    );
  });
  test('waits as long as the provider asks, and not at all where that is too long', () => {
    expect(retryDelay({ retryable: true, retryAfterMs: 30_000 }, 1, {}, 0.9)).toBe(30_000);
    expect(retryDelay({ retryable: true, retryAfterMs: 60_001 }, 1, {}, 0.9)).toBeUndefined();
  });
  test('never repeats what cannot succeed', () => {
    expect(retryDelay({ retryable: false, retryAfterMs: 1 }, 1)).toBeUndefined();
    expect(retryDelay(failed, 1, { retries: 0 })).toBeUndefined();
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (headers: Record<string, string>) => retryAfterMs((name) => headers[name], now);
  test.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after-ms': '120', 'retry-after': '20' }, 120],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': '7s' }, 7_000],
    [{ 'retry-after': '1m30s' }, 90_000],
    [{ 'retry-after': '500 ms' }, 500],
    [{ 'retry-after': '2 minutes' }, 120_000],
    [{ 'retry-after': '5, 5' }, 5_000],
    [{ 'retry-after': String(now / 1_000 + 4) }, 4_000],
    [{ 'retry-after': String(now + 4_000) }, 4_000],
    [{ 'retry-after': '7 sheep' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after-ms': '2s', 'retry-after': '3' }, 3_000],
    // A clock of ours that is an hour late, and one of the server's that is a second early.
    [{ 'retry-after': new Date(now + 3_609_000).toUTCString(), date: new Date(now + 3_600_000).toUTCString() }, 9_000],
    [{ 'retry-after': new Date(now + 9_000).toUTCString(), date: new Date(now - 1_000).toUTCString() }, 9_000],
    [{ 'retry-after': new Date(now + 9000).toUTCString() }, 9000],
    [{ 'retry-after': new Date(now - 9000).toUTCString() }, undefined],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%o', (headers, expected) => {
    expect(read(headers)).toBe(expected);
  });
});

test('withRetry sets the retries and nothing else', async () => {
  class Own {
    readonly provider = 'own';
    readonly id = 'm';
    readonly #turn = { content: [], stop: 'end' } as const;
    async generate() {
      return this.#turn;
    }
    get limits() {
      return { contextTokens: 5 };
    }
  }
  const model = withRetry(new Own(), { retries: 1 });
  expect(model).toMatchObject({ provider: 'own', id: 'm', limits: { contextTokens: 5 }, retry: { retries: 1 } });
  const turn = await model.generate(
    { instructions: '', messages: [], tools: [], settings: {} },
    { signal: new AbortController().signal },
  );
  expect(turn.stop).toBe('end');
  expect(() => withRetry(model, { times: 1 } as never)).toThrow(/retry\.times/);
});

test.each([
  ['Rate limit reached. Please try again in 1.2s. Visit …', 1_200],
  ['Please try again in 7m12.5s.', 432_500],
  ['Please try again in 320ms.', 320],
  ['Please retry after 26 seconds.', 26_000],
  ['Please try again later.', undefined],
  ['Try again in 5 parsecs.', undefined],
])('a wait that only the words of a rate limit say is taken from them: %s', (message, expected) => {
  expect(waitInWords(message)).toBe(expected);
});
