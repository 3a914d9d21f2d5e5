import { ConfigurationError } from '../core/values/errors.ts';
import { EXIT } from './exit-code.ts';
import { tell } from './tell.ts';

/**
 * What another process, or time, was faster with is a failure and no mistake of who wrote the command: told, and ends with 1.
 * `fields` are those of the ConfigurationErrors that say so.
 */
export async function refused(fields: readonly string[], work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError) || !fields.includes(thrown.field)) throw thrown;
    tell(thrown.message);
    return EXIT.failed;
  }
}
