import { checkClosed } from '../core/schema/quarantine.ts';
import type { Schema } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';

/** What a quarantined agent cannot have, and the output that it needs. */
export function checkQuarantined(
  field: string,
  output: Schema | undefined,
  options: { readonly [option: string]: unknown },
): void {
  for (const name of ['tools', 'memory', 'readResult', 'context'] as const) {
    const given = options[name];
    if (given === undefined || given === false || (Array.isArray(given) && given.length === 0)) continue;
    throw new ConfigurationError(`${field}.${name}`, 'a quarantined agent has none', 'Leave it out.');
  }
  if (output === undefined)
    throw new ConfigurationError(`${field}.output`, 'missing', 'A quarantined agent answers in a closed type only.');
  checkClosed(output, `${field}.output`);
}
