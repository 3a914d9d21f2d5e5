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
  const times = new Map<string, number>();
  let total = 0;
  profile.samples?.forEach((id, index) => {
    const place = places.get(id) ?? '?';
    const time = profile.timeDeltas?.[index] ?? 0;
    total += time;
    times.set(place, (times.get(place) ?? 0) + time);
  });
  const costs = [...times].map(([place, time]) => ({ place, share: time / total }));
  const own = costs.filter(({ place }) => !PROFILER.test(place));
  return own.sort((a, b) => b.share - a.share).slice(0, count);
}

function placeOf({ functionName, url, lineNumber }: { functionName: string; url: string; lineNumber: number }): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const path = url.startsWith('file:')
    ? fileURLToPath(url).replace(/^.*?\/(?=(src|bench|dist|node_modules)\/)/, '')
    : url;
  return `${name} ${path}:${lineNumber + 1}`;
}
