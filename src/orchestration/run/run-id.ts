import { ConfigurationError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';

const ID = /^[\w.:-]{1,200}$/;
// What some systems take for a device, or for the folder above: files are named after runs.
const NO_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:[.:]|$)|^\.+$|\.$/i;

/** @throws ConfigurationError where a text cannot be the id of a run. */
export function checkRunId(runId: unknown): asserts runId is string {
  if (typeof runId === 'string' && ID.test(runId) && !NO_NAME.test(runId)) return;
  const mend = 'Use 1 to 200 letters, digits and _ . : -, and no name of a device.';
  throw new ConfigurationError('runId', `got ${shown(runId)}`, mend);
}
