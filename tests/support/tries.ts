import { seeded } from './random.ts';

/** Whether all tries are asked for: `.ci/run` does with `LONG=1`. */
const IS_LONG = process.env.LONG === '1';

/** What the tries of this run of the suite start from. It differs each time and is printed at the end; `SEED` repeats it. */
export const SEED = Number(process.env.SEED ?? 1);

/** How often something is tried: `all` times with `LONG=1`, else `few` times. */
export function tries(all: number, few: number): number {
  return IS_LONG ? all : Math.min(few, all);
}

/** All items with `LONG=1`; else at most `few`, spread over all of them: one of each stretch, which one depends on the seed. */
export function someOf<T>(items: readonly T[], few: number): readonly T[] {
  if (IS_LONG || few >= items.length) return items;
  const random = seeded(SEED);
  const stretch = items.length / few;
  return Array.from({ length: few }, (_, index) => Math.floor((index + random.next()) * stretch)).flatMap((at) =>
    items.slice(at, at + 1),
  );
}

/** The numbers from `first` to `last`, or some of them as in {@link someOf}. */
export function someNumbers(first: number, last: number, few: number): readonly number[] {
  return someOf(
    Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index),
    few,
  );
}
