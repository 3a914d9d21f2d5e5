import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FanOut, stopReason } from '../../src/core/call/fan-out.ts';
import type { FanOutPolicy } from '../../src/core/contract/fan-out-options.ts';
import type { Json } from '../../src/core/values/json.ts';
import { tries } from '../support/tries.ts';

const CASES = tries(20_000, 4_000);

const policies: fc.Arbitrary<FanOutPolicy> = fc.oneof(
  fc.constantFrom('collect' as const, 'failFast' as const, 'race' as const),
  fc.record({ quorum: fc.integer({ min: 1, max: 7 }) }),
);

/** Workers in the order in which they would end, and how each would. */
const course = fc
  .array(fc.boolean(), { minLength: 2, maxLength: 6 })
  .chain((outcomes) =>
    fc.tuple(
      fc.shuffledSubarray([...outcomes.keys()], { minLength: outcomes.length }),
      fc.constant(outcomes),
      fc.nat(outcomes.length),
    ),
  );

/** A run that keeps what is recorded, and stops what it is told to. */
function world(records = new Map<string, Json>()) {
  const cancelled: string[] = [];
  let parent: object | undefined;
  const run = {
    journal: {
      recallOnce: (key: string) => records.get(key),
      once: (key: string, _self: unknown, propose: () => Json) => {
        expect(records.has(key)).toBe(false);
        records.set(key, propose());
      },
    },
    stops: { at: (path: string) => (path === 'lead' ? parent : undefined) },
    cancellation: { cancel: (path: string) => void cancelled.push(path) },
  };
  const stopParent = () => {
    parent = { status: 'aborted', reason: 'x' };
  };
  const fanOut = (policy: FanOutPolicy, paths: readonly string[]) =>
    new FanOut(run as never, { path: 'lead' } as never, { key: 'lead/1/@fanout', policy, paths });
  return { fanOut, cancelled, records, stopParent };
}

/** The end after which the rest must stop, said the long way round. */
function decisiveEnd(policy: FanOutPolicy, order: readonly number[], outcomes: readonly boolean[]): number | undefined {
  const index = order.findIndex((_, at) => {
    const ended = order.slice(0, at + 1).map((worker) => outcomes[worker]);
    const good = ended.filter(Boolean).length;
    const open = order.length - ended.length;
    if (policy === 'collect') return false;
    if (policy === 'failFast') return good < ended.length;
    if (policy === 'race') return good === 1;
    const needed = Math.min(policy.quorum, order.length);
    return good >= needed || good + open < needed;
  });
  return index < 0 || index === order.length - 1 ? undefined : index;
}

test(`a policy stops exactly those who have not ended, once, under every order and outcome (${CASES} cases)`, () => {
  let decided = 0;
  fc.assert(
    fc.property(policies, course, (policy, [order, outcomes]) => {
      const paths = outcomes.map((_, index) => `lead/1.${index}`);
      const { fanOut, cancelled, records } = world();
      const play = fanOut(policy, paths);
      const end = decisiveEnd(policy, order, outcomes);
      const late = end === undefined ? [] : order.slice(end + 1).map((worker) => paths[worker]);
      for (const [at, worker] of order.entries()) {
        // A loser ends too, in whatever way its stop finds it.
        play.ended(paths[worker] as string, outcomes[worker] as boolean);
        expect(cancelled.toSorted()).toEqual(end !== undefined && at >= end ? late.toSorted() : []);
      }
      expect(records.size).toBe(end === undefined ? 0 : 1);
      if (end === undefined) return;
      decided += 1;
      const won = order.slice(0, end + 1).filter((worker) => outcomes[worker]);
      expect(records.get('lead/1/@fanout')).toMatchObject({
        completed: won.map((worker) => paths[worker]),
        stopped: paths.filter((path) => late.includes(path)),
      });
    }),
    { numRuns: CASES },
  );
  expect(decided).toBeGreaterThan(CASES / 4);
});

test(`what was decided holds at a resume, whatever ends first then (${CASES / 2} cases)`, () => {
  fc.assert(
    fc.property(policies, course, fc.infiniteStream(fc.nat()), (policy, [order, outcomes], picks) => {
      const paths = outcomes.map((_, index) => `lead/1.${index}`);
      const before = world();
      const first = before.fanOut(policy, paths);
      for (const worker of order) first.ended(paths[worker] as string, outcomes[worker] as boolean);
      const after = world(new Map(before.records));
      const second = after.fanOut(policy, paths);
      expect(after.cancelled).toEqual(before.cancelled);
      if (before.records.size === 0) return;
      const left = [...paths];
      for (const pick of picks) {
        const [path] = left.splice(pick % Math.max(1, left.length), 1);
        if (path === undefined) break;
        second.ended(path, pick % 2 === 0);
      }
      expect(after.cancelled).toEqual(before.cancelled);
      expect(after.records).toEqual(before.records);
    }),
    { numRuns: CASES / 2 },
  );
});

test(`whoever stops the supervisor decides nothing of its workers (${CASES / 2} cases)`, () => {
  fc.assert(
    fc.property(policies, course, (policy, [order, outcomes, stopAt]) => {
      const paths = outcomes.map((_, index) => `lead/1.${index}`);
      const { fanOut, records, stopParent } = world();
      const play = fanOut(policy, paths);
      const end = decisiveEnd(policy, order, outcomes);
      for (const [at, worker] of order.entries()) {
        if (at === stopAt) stopParent();
        play.ended(paths[worker] as string, at < stopAt && (outcomes[worker] as boolean));
      }
      expect(records.size).toBe(end !== undefined && end < stopAt ? 1 : 0);
    }),
    { numRuns: CASES / 2 },
  );
});

test('a turn with fewer workers than its quorum needs all of them', () => {
  const policy = { quorum: 5 };
  expect(stopReason(policy, { size: 2, completed: 1, failed: 0 })).toBeUndefined();
  expect(stopReason(policy, { size: 2, completed: 0, failed: 1 })).toMatch(/At most 1 .* 2 are needed/);
  expect(stopReason(policy, { size: 2, completed: 2, failed: 0 })).toMatch(/Enough/);
});
