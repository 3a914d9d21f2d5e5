/** Reads one response header. */
export type ReadHeader = (name: string) => string | null | undefined;

/**
 * How long the provider asks to wait, in milliseconds: `retry-after-ms`, else `retry-after` in seconds or as a date
 * (RFC 9110 §10.2.3). Nothing where it is absent, broken or over.
 */
export function retryAfterMs(read: ReadHeader, now: number): number | undefined {
  const exact = positive(Number.parseFloat(read('retry-after-ms') ?? ''));
  if (exact !== undefined) return exact;
  const after = read('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(after)) return positive(Number(after) * 1000);
  return positive(Date.parse(after) - now);
}

function positive(ms: number): number | undefined {
  return Number.isFinite(ms) && ms > 0 ? Math.ceil(ms) : undefined;
}
