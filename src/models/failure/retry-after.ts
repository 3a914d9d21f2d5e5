/** Reads one response header. */
export type ReadHeader = (name: string) => string | null | undefined;

/** Own clocks that are wrong by more than this are set right by the server's. */
const SKEW_MS = 5_000;

/**
 * The requested wait in milliseconds: `retry-after-ms`, else `retry-after` in seconds or as a date (RFC 9110 §10.2.3), or in the forms
 * of some servers: a duration with units, a time in seconds since 1970. Undefined if it is absent, invalid or in the past.
 */
export function retryAfterMs(read: ReadHeader, now: number): number | undefined {
  const exact = read('retry-after-ms')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(exact)) {
    const ms = positive(Number(exact));
    if (ms !== undefined) return ms;
  }
  const after = read('retry-after')?.trim() ?? '';
  const number = /^(\d+(?:\.\d+)?)(?:\s*,.*)?$/.exec(after)?.[1];
  if (number === undefined) return durationMs(after) ?? positive(Date.parse(after) - clock(read, now));
  const seconds = Number(number);
  return positive(seconds < 1e9 ? seconds * 1_000 : (seconds < 1e12 ? seconds * 1_000 : seconds) - clock(read, now));
}

/** `Please try again in 1m7.2s`: in the message, if there is no header. */
export function waitInWords(message: string): number | undefined {
  const match = /(?:try again|retry)(?: in| after)?:? ((?:\d+(?:\.\d+)?\s*(?:ms|[hms])[a-z]*\s*)+)/i.exec(message)?.[1];
  return match === undefined ? undefined : durationMs(match.trim());
}

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])\s*/gi;

function durationMs(text: string): number | undefined {
  if (text === '' || text.replace(PART, '') !== '') return undefined;
  let sum = 0;
  for (const [, count, unit = ''] of text.matchAll(PART)) {
    const short = /^(ms|milli)/i.test(unit) ? 'ms' : unit.charAt(0).toLowerCase();
    sum += Number(count) * (UNITS[short] ?? 0);
  }
  return positive(sum);
}

function clock(read: ReadHeader, now: number): number {
  const server = Date.parse(read('date') ?? '');
  return Math.abs(server - now) > SKEW_MS ? server : now;
}

function positive(ms: number): number | undefined {
  return Number.isFinite(ms) && ms > 0 ? Math.ceil(ms) : undefined;
}
