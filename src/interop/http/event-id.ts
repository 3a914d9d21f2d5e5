/**
 * The id of an event on the wire: `key:attempt:chunk`. `chunk` is where it stands in its run: one number that grows, the number of
 * the record shown last times a million, and how many pieces without a record came since. Records keep their numbers when a run
 * goes on in another process, so it says there as well what a client has seen.
 */
export function eventId(key: string, attempt: number, chunk: number): string {
  return `${encodeURI(key.toWellFormed())}:${attempt}:${chunk}`;
}

/** Pieces without a record between two records; what comes beyond is not shown. */
export const PIECES = 1_000_000;

/** The place after which a client goes on: 0, the beginning, where it names none or what is no id of ours. */
export function placeAfter(id: string | undefined): number {
  const [, chunk = ''] = /^[^\r\n]{1,4096}:\d{1,9}:(\d{1,16})$/.exec(id ?? '') ?? [];
  const place = Number(chunk);
  return Number.isSafeInteger(place) ? place : 0;
}
