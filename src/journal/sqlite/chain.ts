import { sha256 } from '../../core/values/json.ts';
import type { Row } from '../row.ts';

/** The start of every chain. */
export const GENESIS = '0'.repeat(64);

/** The form of new chains. A run keeps the one it began with: 1 is that of files of schema 1. */
export const CHAIN = 2;

/** What of a row is hashed beside its texts as they are stored. */
export type HashedRow = Omit<Row, 'request' | 'value'>;

/** What makes the hashes of one run's rows. */
export interface Chain {
  readonly form: number;
  /** The run's id. */
  readonly run: string;
  /** Keyed (HMAC) where there is one. */
  readonly key: string | undefined;
}

/** The hash of a row: of the run's id, of the row before and of all its columns. 64 hex digits. */
export function chainHash(
  { form, run, key }: Chain,
  before: string,
  row: HashedRow,
  request: string | null,
  value: string | null,
): string {
  const text = form === 1 ? listed(run, before, row, request, value) : measured(run, before, row, request, value);
  if (key === undefined) return sha256(text);
  return process.getBuiltinModule('node:crypto').createHmac('sha256', key).update(text).digest('hex');
}

/** Numbers and lengths, then the texts: nothing can move from one column to another. */
function measured(run: string, before: string, row: HashedRow, request: string | null, value: string | null): string {
  const { record, key, kind, event, attempt, epoch, time, step, traceId = '', spanId = '' } = row;
  const numbers = `${record} ${attempt} ${epoch} ${time} ${step}`;
  const lengths = `${run.length} ${key.length} ${kind.length} ${event.length} ${traceId.length} ${spanId.length}`;
  const texts = `${request === null ? '-' : request.length} ${value === null ? '-' : value.length}`;
  return `${numbers} ${lengths} ${texts}\n${before}${run}${key}${kind}${event}${traceId}${spanId}${request ?? ''}${value ?? ''}`;
}

function listed(run: string, before: string, row: HashedRow, request: string | null, value: string | null): string {
  const { record, key, kind, event, attempt, epoch, time, step, traceId = '', spanId = '' } = row;
  const position = [record, key, kind, event, attempt, epoch, String(time), step];
  return JSON.stringify([run, before, ...position, traceId, spanId, request, value]);
}
