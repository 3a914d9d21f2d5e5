// A millisecond behind: OpenTelemetry's own spans begin at whole milliseconds and end as much too early, and a run must end before its caller's span does.
let offset = BigInt(Math.round((wallTime() - 1) * 1_000)) * 1_000n - process.hrtime.bigint();
let last = 0n;

/** Milliseconds since 1970, to microseconds, so that the processes of one machine agree; unless its clock was set since this one began. */
function wallTime(): number {
  const precise = performance.timeOrigin + performance.now();
  const now = Date.now();
  return Math.abs(precise - now) < 50 ? precise : now;
}

/** Nanoseconds since 1970 by one monotonic clock per process; no two calls give the same. */
export function timeNow(): bigint {
  const now = offset + process.hrtime.bigint();
  last = now > last ? now : last + 1n;
  return last;
}

/** More than this behind is another clock, which is followed. */
const DETACHED = 10_000_000n;

/** Makes the clock continue from a recorded time, or that of a caller's span: it does not go back where the machine's clock did. */
export function advanceTime(to: bigint): void {
  if (to <= last) return;
  const behind = to - (offset + process.hrtime.bigint());
  if (behind > DETACHED) offset += behind;
  last = to;
}

/** ISO 8601 in UTC, milliseconds. */
export function isoTime(time: bigint): string {
  return new Date(Number(time / 1_000_000n)).toISOString();
}

/** Longest delay a timer holds (2^31 − 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;
