import { median } from './compare.ts';
import type { Contender } from './script.ts';

const ROUNDS = 120;

/** µs from one request to the next, around steps 5 and 200 of the same run: how the cost of a step grows with the run. */
export async function growth(contender: Contender): Promise<{ early: number; late: number }> {
  const requestedAt: number[] = [];
  const onStep = (step: number) => {
    requestedAt[step] = performance.now();
  };
  const run = await contender.agent({ steps: 211, calls: 1, onStep });
  const early: number[] = [];
  const late: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await run();
    early.push(...intervals(requestedAt, 5));
    late.push(...intervals(requestedAt, 200));
  }
  return { early: median(early) * 1_000, late: median(late) * 1_000 };
}

/** Of the steps up to four away. */
function intervals(requestedAt: readonly number[], step: number): number[] {
  return Array.from({ length: 9 }, (_, index) => {
    const at = step - 4 + index;
    return (requestedAt[at] ?? Number.NaN) - (requestedAt[at - 1] ?? Number.NaN);
  });
}

/** ms of wall, median of three, of 32 workers of 6 steps at 50 ms latency and limit 8. The best possible is 2 steps of the supervisor and 4 × 6 of workers. */
export const IDEAL_MS = (2 + (32 / 8) * 6) * 50;

export async function teamWall(contender: Contender): Promise<number> {
  const run = await contender.team({ workers: 32, steps: 6, limit: 8, latencyMs: 50 });
  const samples: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const since = performance.now();
    await run();
    samples.push(performance.now() - since);
  }
  return median(samples);
}
