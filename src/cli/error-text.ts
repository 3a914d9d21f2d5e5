import { messageOf } from '../core/values/errors.ts';
import { EXIT } from './exit-code.ts';
import { visibleLines } from './visible.ts';

/** What a person is told of an error, and the exit code that goes with it. */
export interface ErrorText {
  readonly text: string;
  readonly code: number;
}

/**
 * A mistake in a definition or in options is `field: problem. mend`, without a stack. Of anything else the message; the stack
 * only where `debug` asks for it (`COX_DEBUG`).
 */
export function errorText(thrown: unknown, debug: boolean): ErrorText {
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  const code = isConfigurationError(thrown) ? EXIT.usage : EXIT.failed;
  if (debug && stack !== undefined) return { text: visibleLines(stack), code };
  const message = visibleLines(messageOf(thrown));
  const hint = code === EXIT.usage || stack === undefined ? '' : '\nCOX_DEBUG=1 shows where.';
  return { text: `${message}${hint}`, code };
}

/** By its name: the agent's module may have a coxswain of its own. */
function isConfigurationError(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'ConfigurationError' && 'field' in thrown && 'mend' in thrown;
}
