const offset = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();
let last = 0n;

/** Nanoseconds since 1970 by one monotonic clock per process; no two calls give the same. */
export function timeNow(): bigint {
  const now = offset + process.hrtime.bigint();
  last = now > last ? now : last + 1n;
  return last;
}

/** Makes the clock go on from a time that was recorded: it does not go back where the machine's did. */
export function advanceTime(to: bigint): void {
  if (to > last) last = to;
}

/** ISO 8601 in UTC, milliseconds. */
export function isoTime(time: bigint): string {
  return new Date(Number(time / 1_000_000n)).toISOString();
}

/** Longest delay a timer holds (2^31 − 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;
