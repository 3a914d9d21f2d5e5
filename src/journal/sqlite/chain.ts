import { sha256 } from '../../core/json.ts';
import type { Row } from '../row.ts';

/** The start of every chain. */
export const GENESIS = '0'.repeat(64);

/** A row as it is hashed: every column, its texts as they are stored. */
export interface HashedRow extends Omit<Row, 'request' | 'value'> {
  readonly request: string | null;
  readonly value: string | null;
}

/** The hash of a row: of the run's id, of the row before and of all its columns; keyed (HMAC) where there is a key. */
export function chainHash(run: string, before: string, row: HashedRow, key: string | undefined): string {
  const { record, event, kind, attempt, epoch, time, step, traceId, spanId, request, value } = row;
  const text = JSON.stringify([
    run,
    before,
    record,
    row.key,
    kind,
    event,
    attempt,
    epoch,
    String(time),
    step,
    traceId,
    spanId,
    request,
    value,
  ]);
  if (key === undefined) return sha256(text);
  return process.getBuiltinModule('node:crypto').createHmac('sha256', key).update(text).digest('hex');
}
