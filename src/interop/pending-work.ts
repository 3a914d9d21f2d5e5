import type { Run } from '../orchestration/run/run-handle.ts';

/** Work of served runs that continues after their results. A server that closes waits for it before the journal is closed. */
export class PendingWork {
  readonly #open = new Set<Promise<void>>();

  follow(run: Run): void {
    const { settled } = run;
    this.#open.add(settled);
    void settled.then(() => this.#open.delete(settled));
  }

  /** Resolves when all work is done. */
  async done(): Promise<void> {
    await Promise.all(this.#open);
  }
}
