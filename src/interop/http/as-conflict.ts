import { ConfigurationError, isA, messageOf } from '../../core/values/errors.ts';
import { Problem } from './problem.ts';

/** What does not fit how a run stands is the caller's affair, in the words of the library. */
export async function asConflict(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (isA(thrown, ConfigurationError)) throw new Problem('conflict', messageOf(thrown));
    throw thrown;
  }
}
