import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from '../../core/errors.ts';
import type { Row } from '../row.ts';
import { chainHash, GENESIS, type HashedRow } from './chain.ts';
import type { RunRow } from './run-row.ts';
import { loadValue } from './values.ts';

/** A run's records, their chain checked against the run's head and count. */
export interface ReadRecords {
  readonly rows: readonly Row[];
  readonly head: string;
}

/** @throws JournalError where one was changed or is missing: it says which. */
export function readRecords(database: DatabaseSync, run: RunRow, key: string | undefined): ReadRecords {
  const select = database.prepare('SELECT * FROM records WHERE run = ? ORDER BY record');
  select.setReadBigInts(true);
  const chain = { form: run.chain, run: run.id, key };
  let head = GENESIS;
  const rows: Row[] = [];
  for (const columns of select.iterate(run.run)) {
    const row = hashedRow(columns);
    const request = textOf(columns.request);
    const value = textOf(columns.value);
    head = chainHash(chain, head, row, request, value);
    if (head !== hex(columns.hash)) throw changed(run.id, `record ${row.record} (${row.key})`);
    rows.push({ ...row, request: loadValue(database, request), value: loadValue(database, value) });
  }
  if (run.head !== head || run.count !== rows.length) throw changed(run.id, 'the end of its records');
  return { rows, head };
}

function hashedRow(columns: Record<string, unknown>): HashedRow {
  const { trace, span } = columns;
  return {
    record: Number(columns.record),
    key: String(columns.key),
    kind: String(columns.kind) as Row['kind'],
    event: String(columns.event) as Row['event'],
    attempt: Number(columns.attempt),
    epoch: Number(columns.epoch),
    time: columns.time as bigint,
    step: Number(columns.step),
    ...(trace !== null && { traceId: hex(trace) }),
    ...(span !== null && { spanId: hex(span) }),
  };
}

/** A column that somebody made something else than a text is none of ours. */
function textOf(column: unknown): string | null {
  return column === null ? null : String(column);
}

function hex(bytes: unknown): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex') : '';
}

function changed(id: string, where: string): JournalError {
  return new JournalError(
    `run ${id}: ${where} was changed or is missing (hash chain). It cannot be resumed truly: put a whole copy of the file back, or start a new run.`,
  );
}
