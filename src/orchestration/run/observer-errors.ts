import { messageOf } from '../../core/values/errors.ts';
import type { CheckedOptions } from './run-options.ts';

/**
 * Tells `onObserverError` what a view, a listener or the instrument failed with: none of them is part of the run. With nobody
 * told, a log that cannot be written would be lost in silence, so the process is warned, once a run.
 */
export function observerErrors(
  run: string,
  options: Pick<CheckedOptions, 'onObserverError'>,
): (error: unknown) => void {
  let isWarned = false;
  function warn(error: unknown): void {
    if (isWarned) return;
    isWarned = true;
    process.emitWarning(
      `run ${run}: a view or listener failed (${messageOf(error)}). onObserverError is told of each.`,
      'CoxswainWarning',
    );
  }
  return (error) => {
    try {
      if (options.onObserverError === undefined) warn(error);
      const handled: unknown = options.onObserverError?.(error);
      if (handled instanceof Promise) handled.catch(() => {});
    } catch {
      // Its own throw is swallowed: there is nobody left to tell.
    }
  };
}
