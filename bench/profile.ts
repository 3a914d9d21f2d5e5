import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** Where CPU time went, by function: its own time, without what it called. */
export interface Cost {
  /** `function file:line`. */
  readonly place: string;
  readonly share: number;
}

/** What is the profiler's or nobody's. */
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

  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  // Samples are counted, not their times: on a busy machine the sample before a pause would get all of it.
  const counts = new Map<string, number>();
  for (const id of profile.samples ?? []) {
    const place = places.get(id) ?? '?';
    if (!PROFILER.test(place)) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, samples) => sum + samples, 0);
  const costs = [...counts].map(([place, samples]) => ({ place, share: samples / total }));
  return costs.sort((a, b) => b.share - a.share).slice(0, count);
}

function placeOf({ functionName, url, lineNumber }: { functionName: string; url: string; lineNumber: number }): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const path = url.startsWith('file:')
    ? fileURLToPath(url).replace(/^.*?\/(?=(src|bench|dist|node_modules)\/)/, '')
    : url;
  return `${name} ${path}:${lineNumber + 1}`;
}
