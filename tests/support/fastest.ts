/**
 * Milliseconds of the fastest of up to ten runs: how quick the work can be, not how busy the machine is. The first run that takes
 * less than `enough` ends it, and so does one that is hopelessly over.
 */
export function fastest(enough: number, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round += 1) {
    const start = performance.now();
    work();
    const took = performance.now() - start;
    least = Math.min(least, took);
    if (took < enough || took > 10 * enough) break;
  }
  return least;
}
