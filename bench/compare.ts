/** Work of one contender: what it costs is shared out over `units`. */
export interface Work {
  readonly name: string;
  readonly run: () => Promise<number>;
  /** Tool calls that a right run makes. */
  readonly expected: number;
  readonly units: number;
}

/** As long as the compiler needs for its last word, also on a busy machine. */
const WARM_UP_MS = 250;
const SAMPLE_MS = 12;
const ROUNDS = 21;

/**
 * CPU µs per unit of each contender, medians over rounds. In each round every contender runs once, in turn, so that a busy
 * machine is bad for all of them alike. All threads count: collecting garbage is part of the cost.
 */
export async function compare(works: readonly Work[]): Promise<Map<string, number>> {
  const samples = new Map<string, number[]>();
  const repeats = new Map<string, number>();
  for (const work of works) {
    await repeat(work, WARM_UP_MS);
    const since = performance.now();
    const runs = await repeat(work, WARM_UP_MS / 4);
    repeats.set(work.name, Math.max(1, Math.round((SAMPLE_MS * runs) / (performance.now() - since))));
    samples.set(work.name, []);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const work of works) {
      const count = repeats.get(work.name) ?? 1;
      await globalThis.gc?.({ type: 'minor', execution: 'async' });
      const before = process.cpuUsage();
      for (let run = 0; run < count; run += 1) await checked(work);
      const { user, system } = process.cpuUsage(before);
      samples.get(work.name)?.push((user + system) / count / work.units);
    }
  }
  return new Map([...samples].map(([name, values]) => [name, median(values)]));
}

/** How many runs were made. */
async function repeat(work: Work, ms: number): Promise<number> {
  const until = performance.now() + ms;
  let runs = 0;
  for (; performance.now() < until || runs < 2; runs += 1) await checked(work);
  return runs;
}

async function checked({ name, run, expected }: Work): Promise<void> {
  const ran = await run();
  if (ran !== expected) throw new Error(`${name} ran ${ran} tool calls, expected ${expected}`);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
