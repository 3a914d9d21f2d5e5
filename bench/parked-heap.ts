import { contenderNamed } from './contenders/index.ts';

/** A child process: prints the KB of heap that one run takes while its first model call is under way. */
const RUNS = 1_000;
const { park } = await contenderNamed(process.argv[2] ?? '');
const live: unknown[] = [];

async function parkAll(runs: number): Promise<void> {
  for (let run = 0; run < runs; run += 1) live.push(park((settle) => live.push(settle)));
  // Microtasks and immediates over, every model is asked.
  await new Promise((resolve) => setTimeout(resolve, 20));
}

function heapUsed(): number {
  for (let turn = 0; turn < 4; turn += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

await parkAll(RUNS / 10);
const before = heapUsed();
const settledBefore = live.length;
await parkAll(RUNS);
const bytes = heapUsed() - before;
if (live.length - settledBefore !== 2 * RUNS) throw new Error('not every run is in its first model call');
process.stdout.write(String(bytes / RUNS / 1_024));
process.exit(0);
