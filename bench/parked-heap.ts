import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { contenderNamed } from './contenders/index.ts';
import { costliest, frameOf } from './profile.ts';

/**
 * A child process: prints the KB of heap that one run takes while its first model call is active; with `costs` where
 * those bytes were allocated, as JSON.
 */
const RUNS = 1_000;
const SAMPLED_BYTES = 1_024;
const { park } = await contenderNamed(process.argv[2] ?? '');
const live: unknown[] = [];

async function parkAll(runs: number): Promise<void> {
  for (let run = 0; run < runs; run += 1) live.push(park((settle) => live.push(settle)));
  // Waits until microtasks and immediates are done and every model is called.
  await new Promise((resolve) => setTimeout(resolve, 20));
}

function heapUsed(): number {
  for (let turn = 0; turn < 4; turn += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Bytes by the function that allocated them, of what is alive after a full collection. */
async function liveBytes(work: () => Promise<void>): Promise<Map<string, number>> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', { samplingInterval: SAMPLED_BYTES });
  await work();
  heapUsed();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  const bytes = new Map<string, number>();
  const add = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode) => {
    if (selfSize > 0) bytes.set(frameOf(callFrame), (bytes.get(frameOf(callFrame)) ?? 0) + selfSize);
    for (const child of children) add(child);
  };
  add(profile.head);
  return bytes;
}

await parkAll(RUNS / 10);
if (process.argv[3] === 'costs') {
  process.stdout.write(JSON.stringify(costliest(await liveBytes(() => parkAll(RUNS)), RUNS)));
} else {
  const before = heapUsed();
  const settledBefore = live.length;
  await parkAll(RUNS);
  const bytes = heapUsed() - before;
  if (live.length - settledBefore !== 2 * RUNS) throw new Error('not every run is in its first model call');
  process.stdout.write(String(bytes / RUNS / 1_024));
}
process.exit(0);
