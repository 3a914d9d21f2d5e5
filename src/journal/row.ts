import type { Entry } from '../core/contract/record.ts';
import type { Json } from '../core/values/json.ts';

/** A record as it is stored. Of an effect `value` is its own outcome: what it gave, or the error. Times in nanoseconds since 1970. */
export interface Row {
  readonly record: number;
  readonly key: string;
  readonly kind: Entry['kind'];
  readonly event: Entry['event'];
  readonly attempt: number;
  readonly epoch: number;
  readonly time: bigint;
  readonly step: number;
  /** Hex digits, where an instrument gave them; on the record that starts the span. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly request?: Json | undefined;
  readonly value?: Json | undefined;
}

/** JSON of anything; what JSON cannot hold is left out. */
export function asJson(value: unknown): Json | undefined {
  if (value === undefined || typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  const text = JSON.stringify(value);
  return text === undefined ? undefined : (JSON.parse(text) as Json);
}
