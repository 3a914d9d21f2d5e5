import type { Instrument, SpanHandle, SpanStart } from '../../core/contract/instrument.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { Progress } from '../../core/contract/tool.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Observers } from '../../core/runtime/run-context.ts';
import { messageOf } from '../../core/values/errors.ts';
import type { ModelDelta } from '../../core/values/model.ts';
import type { CheckedOptions } from './run-options.ts';

/** Where something without a record happened. */
interface EventSite {
  readonly self: Invocation;
  readonly key: string;
  readonly step: number;
}

interface ObserversParts {
  /** Shows what has no record after the records that were made before it. */
  readonly journal: { inOrder(show: () => void): void };
}

/** Passes records, chunks and progress to the listeners of a run. The handle sets each function while there is a listener for it. */
export class RunObservers implements Observers {
  record: ((record: RunRecord) => void) | undefined = undefined;
  onDelta: ((at: EventSite, attempt: number, delta: ModelDelta) => void) | undefined = undefined;
  onProgress: ((at: EventSite, call: { name: string; callId: string }, progress: Progress) => void) | undefined =
    undefined;
  readonly #run: ObserversParts;

  constructor(run: ObserversParts) {
    this.#run = run;
  }

  get isListening(): boolean {
    return this.onDelta !== undefined;
  }

  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void {
    if (this.onDelta !== undefined)
      this.#run.journal.inOrder(() => this.onDelta?.({ self, key, step }, attempt, delta));
  }

  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void {
    if (this.onProgress !== undefined)
      this.#run.journal.inOrder(() => this.onProgress?.({ self, key, step }, { name, callId }, progress));
  }
}

/** An instrument whose failure is reported and costs a span, never the run. Undefined where it wants nothing of the run. */
export function guardedInstrument(
  instrument: Instrument | undefined,
  failed: (error: unknown) => void,
): Instrument | undefined {
  if (instrument === undefined) return undefined;
  const guarded = <T>(ask: () => T): T | undefined => {
    try {
      return ask();
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
  const wanted = guarded(() => instrument.wants?.() ?? true);
  if (wanted !== true) return undefined;
  const view = (record: Parameters<Instrument>[0]) => instrument(record);
  return Object.assign(view, {
    // Once a span: without a closure.
    start(begun: SpanStart, parent: SpanHandle | undefined) {
      try {
        return instrument.start(begun, parent);
      } catch (error) {
        failed(error);
        return undefined;
      }
    },
    notBefore: () => guarded(() => instrument.notBefore?.()),
    flush: () => instrument.flush?.(),
    abandon: (...how: Parameters<NonNullable<Instrument['abandon']>>) => instrument.abandon?.(...how),
    replayed: (...how: Parameters<NonNullable<Instrument['replayed']>>) => instrument.replayed?.(...how),
  });
}

/**
 * Reports the failure of a view, a listener or the instrument to `onObserverError`: none of them is part of the run. Without that
 * option the process is warned once a run, since a log that cannot be written would be lost in silence.
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
      // Its own throw is swallowed: there is no one to report it to.
    }
  };
}
