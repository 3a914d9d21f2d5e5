import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from '../../core/values/errors.ts';
import type { Row } from '../row.ts';
import { chainHash, GENESIS, type HashedRow } from './chain.ts';
import { WholeRequests } from './request-parts.ts';
import type { RunRow } from './run-row.ts';
import { loadValue } from './values.ts';

/** A run's records, their chain checked against the run's head and count. */
export interface ReadRecords {
  readonly rows: readonly Row[];
  readonly head: string;
}

/** Lists rather than objects, and no integer that needs a bigint: half the work of reading thousands of rows. */
const SELECT = `SELECT record, key, kind, event, attempt, epoch, time / 1000000000, time % 1000000000, step,
  lower(hex(trace)), lower(hex(span)), request, value, lower(hex(hash)) FROM records WHERE run = ? ORDER BY record`;

/** @throws JournalError where one was changed or is missing: it says which. */
export function readRecords(database: DatabaseSync, run: RunRow, key: string | undefined): ReadRecords {
  const select = database.prepare(SELECT);
  select.setReturnArrays(true);
  const chain = { form: run.chain, run: run.id, key };
  let head = GENESIS;
  const whole = new WholeRequests();
  const rows: Row[] = [];
  for (const columns of select.iterate(run.run) as Iterable<unknown>) {
    const { row, request, value, hash } = rowOf(columns as readonly unknown[]);
    head = chainHash(chain, head, row, request, value);
    if (head !== hash) throw changed(run.id, `record ${row.record} (${row.key})`);
    const asked = whole.of(row, loadValue(database, request));
    rows.push({ ...row, request: asked, value: loadValue(database, value) });
  }
  if (run.head !== head || run.count !== rows.length) throw changed(run.id, 'the end of its records');
  return { rows, head };
}

function rowOf(columns: readonly unknown[]) {
  const [record, key, kind, event, attempt, epoch, seconds, nanoseconds, step, trace, span, request, value, hash] =
    columns;
  const row: HashedRow = {
    record: Number(record),
    key: String(key),
    kind: String(kind) as Row['kind'],
    event: String(event) as Row['event'],
    attempt: Number(attempt),
    epoch: Number(epoch),
    time: BigInt(Number(seconds)) * 1_000_000_000n + BigInt(Number(nanoseconds)),
    step: Number(step),
    ...(trace !== '' && { traceId: String(trace) }),
    ...(span !== '' && { spanId: String(span) }),
  };
  return { row, request: textOf(request), value: textOf(value), hash };
}

/** A column that is not a text was changed: as text it fails the check of the chain. */
function textOf(column: unknown): string | null {
  return column === null ? null : String(column);
}

function changed(id: string, where: string): JournalError {
  return new JournalError(
    `run ${id}: ${where} was changed or is missing (hash chain). It cannot be resumed truly: put a whole copy of the file back, or start a new run.`,
  );
}
