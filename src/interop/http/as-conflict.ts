import { ConfigurationError, isA, messageOf } from '../../core/values/errors.ts';
import { Problem } from './problem.ts';

/** Turns a ConfigurationError about the state of a run into a conflict with the library's message. */
export async function asConflict(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (isA(thrown, ConfigurationError)) throw new Problem('conflict', messageOf(thrown));
    throw thrown;
  }
}
