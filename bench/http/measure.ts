import type { Figures } from '../cases.ts';
import { median } from '../compare.ts';
import type { Reply, Worker } from './orders.ts';
import { type Job, requests } from './task.ts';

const SAMPLE_MS = 120;
/** As long as the compiler needs for its last word. */
const WARM_UP_MS = 700;

/** What a job cost each contender: medians per model call, and of the ratios of each round to the first contender. */
export interface Measured {
  /** CPU µs per model call. */
  readonly cpu: Figures;
  /** ms of a whole run. */
  readonly wall: Figures;
  /** By the first contender in the same round. */
  readonly cpuRatio: Figures;
  readonly wallRatio: Figures;
}

/** In each round every contender runs once, each time with another first one, so that a busy machine affects all alike. */
export async function measure(workers: readonly Worker[], job: Job, rounds: number): Promise<Measured> {
  const counts = new Map<string, number>();
  for (const worker of workers) {
    const { ms } = await worker.do({ order: 'prepare', job, runs: 2 });
    const warm = await worker.do({ order: 'run', runs: Math.max(1, Math.round((2 * WARM_UP_MS) / ms)) });
    const each = warm.ms / Math.max(1, Math.round((2 * WARM_UP_MS) / ms));
    counts.set(worker.name, Math.max(1, Math.round(SAMPLE_MS / each)));
  }
  const samples = new Map<string, Reply[]>(workers.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < workers.length; place += 1) {
      const worker = workers[(place + round) % workers.length];
      if (worker === undefined) continue;
      const runs = counts.get(worker.name) ?? 1;
      const { ms, cpuUs } = await worker.do({ order: 'run', runs });
      samples.get(worker.name)?.push({ ms: ms / runs, cpuUs: cpuUs / runs });
    }
  }
  const first = samples.get(workers[0]?.name ?? '') ?? [];
  const each = (figure: (own: Reply, other: Reply) => number) =>
    new Map([...samples].map(([name, all]) => [name, median(all.map((own, n) => figure(own, first[n] ?? own)))]));
  return {
    cpu: each(({ cpuUs }) => cpuUs / requests(job)),
    wall: each(({ ms }) => ms),
    cpuRatio: each((own, other) => own.cpuUs / other.cpuUs),
    wallRatio: each((own, other) => own.ms / other.ms),
  };
}
