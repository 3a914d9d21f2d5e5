import type { DatabaseSync } from 'node:sqlite';
import { transaction } from './transaction.ts';

/** The log of one run, as its file commits it. */
export interface Committer {
  /** Writes what it has within the transaction. What it throws undoes its own part alone. */
  write(): void;
  /** Called once that is on disk, or with the reason why it is not. */
  committed(failure: { readonly thrown: unknown } | undefined): void;
  /** Called instead of both where the file was removed or replaced: nothing that is written to it is kept. */
  lose(): void;
}

/** Commits the runs of one file together: one transaction for all that are due in a turn of the event loop. */
export class CommitGroup {
  readonly #database: DatabaseSync;
  readonly #isInPlace: () => boolean;
  readonly #due = new Set<Committer>();
  #isScheduled = false;

  constructor(database: DatabaseSync, isInPlace: () => boolean) {
    this.#database = database;
    this.#isInPlace = isInPlace;
  }

  /** Commits it in the next turn of the event loop, with all others that are due by then. */
  add(committer: Committer): void {
    this.#due.add(committer);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const due = [...this.#due];
      this.#due.clear();
      this.#commit(due);
    });
  }

  /** Commits one at once. */
  flush(committer: Committer): void {
    this.#due.delete(committer);
    this.#commit([committer]);
  }

  #commit(due: readonly Committer[]): void {
    if (due.length === 0) return;
    if (!this.#isInPlace()) {
      for (const committer of due) committer.lose();
      return;
    }
    const failures = new Map<Committer, { readonly thrown: unknown }>();
    try {
      transaction(this.#database, () => {
        for (const committer of due) {
          const thrown = due.length === 1 ? committer.write() : this.#writeOne(committer);
          if (thrown !== undefined) failures.set(committer, thrown);
        }
      });
    } catch (thrown) {
      for (const committer of due) failures.set(committer, { thrown });
    }
    for (const committer of due) committer.committed(failures.get(committer));
  }

  /** Where SQLite ended the whole transaction by itself (a full disk), it throws. */
  #writeOne(committer: Committer): { readonly thrown: unknown } | undefined {
    const database = this.#database;
    database.exec('SAVEPOINT run');
    try {
      committer.write();
      database.exec('RELEASE run');
      return undefined;
    } catch (thrown) {
      if (!database.isTransaction) throw thrown;
      database.exec('ROLLBACK TO run; RELEASE run');
      return { thrown };
    }
  }
}
