import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientSpending, type Reservation } from '../../../src/interop/http/client-spending.ts';
import { Problem } from '../../../src/interop/http/problem.ts';

const spent = (tokens: number, costUsd?: number) => ({
  usage: { inputTokens: tokens, outputTokens: 0, modelCalls: 1, modelCallsWithUsage: 1 },
  costUsd,
});

test('what runs may spend together never passes the budget, whatever comes in which order', () => {
  const step = fc.record({
    limit: fc.option(fc.integer({ min: 1, max: 60 })),
    spends: fc.nat(100),
    isEnd: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const spending = new ClientSpending({ tokens: 100 });
      const open: (Reservation & { readonly cap: number })[] = [];
      let total = 0;
      for (const { limit, spends, isEnd } of steps) {
        const ending = isEnd ? open.shift() : undefined;
        if (ending !== undefined) {
          const tokens = Math.min(spends, ending.cap);
          ending.reconcile(spent(tokens));
          // A second end changes nothing.
          ending.reconcile(spent(0));
          total += tokens;
          continue;
        }
        try {
          const reservation = spending.reserve('alice', limit === null ? {} : { tokens: limit }, 0);
          open.push({ ...reservation, cap: reservation.limits.tokens ?? Number.NaN });
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Problem);
        }
        expect(total + open.reduce((sum, { cap }) => sum + cap, 0)).toBeLessThanOrEqual(100);
      }
    }),
  );
});

test('one client spends nothing of another, and a new window gives all of it again', () => {
  const spending = new ClientSpending({ tokens: 10, windowMs: 1_000 });
  expect(spending.reserve('alice', {}, 0).limits).toEqual({ tokens: 10 });
  expect(() => spending.reserve('alice', {}, 400)).toThrow(/spent or reserved/);
  expect(spending.reserve('bob', { tokens: 4 }, 400).limits).toEqual({ tokens: 4 });
  expect(spending.reserve('alice', {}, 1_000).limits).toEqual({ tokens: 10 });
  try {
    spending.reserve('alice', {}, 1_400);
  } catch (thrown) {
    expect(thrown).toMatchObject({ kind: 'limited', headers: { 'retry-after': '1' } });
  }
});

test('a run whose cost is not known has cost what was reserved for it', () => {
  const spending = new ClientSpending({ costUsd: 1 });
  spending.reserve('alice', { costUsd: 0.4 }, 0).reconcile(spent(10, 0.1));
  spending.reserve('alice', { costUsd: 0.5 }, 0).reconcile(spent(10));
  expect(spending.reserve('alice', {}, 0).limits.costUsd).toBeCloseTo(0.4);
});
