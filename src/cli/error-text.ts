import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { EXIT } from './exit-code.ts';
import { report, visibleLines } from './visible.ts';

/** The text of an error for a person, and its exit code. */
export interface ErrorText {
  readonly text: string;
  readonly code: number;
}

/**
 * A mistake in a definition or in options is `field: problem. mend`, without a stack. Other errors have their message, and their stack with `debug` (`COX_DEBUG`).
 */
export function errorText(thrown: unknown, debug: boolean): ErrorText {
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  const code = isConfigurationError(thrown) ? EXIT.usage : EXIT.failed;
  if (debug && stack !== undefined) return { text: visibleLines(stack), code };
  const message = visibleLines(messageOf(thrown));
  const hint = code === EXIT.usage || stack === undefined ? '' : '\nCOX_DEBUG=1 shows where.';
  return { text: `${message}${hint}`, code };
}

/** Compares names: the agent's module may load its own copy of coxswain. */
function isConfigurationError(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'ConfigurationError' && 'field' in thrown && 'mend' in thrown;
}

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
