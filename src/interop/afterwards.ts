import type { Run } from '../orchestration/run/run-handle.ts';

/** What runs of others leave to be done after their results: a border that closes waits for it, before the journal is closed. */
export class Afterwards {
  readonly #open = new Set<Promise<void>>();

  follow(run: Run): void {
    const { settled } = run;
    this.#open.add(settled);
    void settled.then(() => this.#open.delete(settled));
  }

  /** Resolves when all of it is done. */
  async done(): Promise<void> {
    await Promise.all(this.#open);
  }
}
