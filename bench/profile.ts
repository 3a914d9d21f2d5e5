import type { Profiler, Runtime } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** Where CPU time went, by function: its own time, without what it called. */
export interface Cost {
  /** `function file:line`. */
  readonly node: string;
  readonly share: number;
}

/** Frames of the profiler, or without a function. */
const PROFILER = /node:inspector|^\((program|idle|root)\)/;

/** Profiles a repeated work for some milliseconds; the costliest functions first. */
export async function profile(work: () => Promise<unknown>, ms: number, count: number): Promise<Cost[]> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 200 });
  await session.post('Profiler.start');
  const until = performance.now() + ms;
  while (performance.now() < until) await work();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();

  return costliest(samplesByFrame([profile]), count);
}

/** Samples of functions' own code. They are counted, not their times: on a busy machine the one before a pause would get all of it. */
export function samplesByFrame(profiles: readonly Profiler.Profile[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { nodes, samples = [] } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, frameOf(callFrame)]));
    for (const id of samples) {
      const node = frames.get(id) ?? '?';
      if (!PROFILER.test(node)) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }
  return counts;
}

/** The largest of what was counted by node, as shares of all of it. */
export function costliest(counts: ReadonlyMap<string, number>, count: number): Cost[] {
  const total = [...counts.values()].reduce((sum, found) => sum + found, 0);
  const costs = [...counts].map(([node, found]) => ({ node, share: found / total }));
  return costs.sort((a, b) => b.share - a.share).slice(0, count);
}

/** `function file:line`, the file as seen from the project or the package. */
export function frameOf({ functionName, url, lineNumber }: Runtime.CallFrame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const path = url.startsWith('file:')
    ? fileURLToPath(url).replace(/^.*?\/(?=(src|bench|dist|node_modules)\/)/, '')
    : url;
  return `${name} ${path}:${lineNumber + 1}`;
}
