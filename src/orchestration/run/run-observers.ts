import type { RunRecord } from '../../core/contract/record.ts';
import type { Progress } from '../../core/contract/tool.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Observers } from '../../core/runtime/observers.ts';
import type { ModelDelta } from '../../core/values/model.ts';

interface CallSite {
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
  onDelta: ((at: CallSite, attempt: number, delta: ModelDelta) => void) | undefined = undefined;
  onProgress: ((at: CallSite, call: { name: string; callId: string }, progress: Progress) => void) | undefined =
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
