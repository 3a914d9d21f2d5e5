import { isDeepStrictEqual } from 'node:util';
import { auditOf, type RunRecord } from 'coxswain';
import type { Shown } from './shown.ts';

/** The check of a run's audit: one record of it has these values. */
export function auditChecks(records: readonly RunRecord[]): NonNullable<Shown['own']> {
  return {
    'audit-has': ({ fields }) =>
      auditOf(records).some((entry) =>
        Object.entries(fields as object).every(([name, value]) =>
          isDeepStrictEqual((entry as unknown as { [name: string]: unknown })[name], value),
        ),
      ),
  };
}
