import { ConfigurationError } from '../core/values/errors.ts';
import { EXIT } from './exit-code.ts';
import { report } from './report.ts';

/**
 * Reports a ConfigurationError about one of `fields` and exits with 1: the state of the run changed meanwhile, so the command
 * itself is not wrong.
 */
export async function refused(fields: readonly string[], work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError) || !fields.includes(thrown.field)) throw thrown;
    report(thrown.message);
    return EXIT.failed;
  }
}
