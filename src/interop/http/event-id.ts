/**
 * The id of an event on the wire: `key:attempt:chunk`. `chunk` is the position in the run, a number that
 * grows: the number of the last record times a million, plus the count of pieces without a record since then. Records keep
 * their numbers when another process resumes the run, so the position is valid there too.
 */
export function eventId(key: string, attempt: number, chunk: number): string {
  return `${encodeURI(key.toWellFormed())}:${attempt}:${chunk}`;
}

/** Pieces without a record between two records; further pieces are not shown. */
export const PIECES = 1_000_000;

/** The position after which a client continues: 0, the beginning, without an id or with an invalid one. */
export function positionAfter(id: string | undefined): number {
  const [, chunk = ''] = /^[^\r\n]{1,4096}:\d{1,9}:(\d{1,16})$/.exec(id ?? '') ?? [];
  const position = Number(chunk);
  return Number.isSafeInteger(position) ? position : 0;
}
