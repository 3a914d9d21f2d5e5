import type { DatabaseSync } from 'node:sqlite';
import type { TimedSignal } from '../record-store.ts';
import { readSignal } from './read-signal.ts';
import type { Statements } from './statements.ts';

const LOOK_MS = 50;

/** Looks whether other processes have told a run something: with each commit, and while something is waited for. */
export class SignalWatch {
  readonly #database: DatabaseSync;
  readonly #run: string;
  readonly #key: string | undefined;
  readonly #onSignal: () => void;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #statements: Statements;
  readonly #seen = new Set<string>();
  /** What was there when the run was opened is read then. */
  #version: number;
  #isNews = false;
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(of: {
    database: DatabaseSync;
    statements: Statements;
    /** Its id. */
    run: string;
    /** The journal's. */
    key: string | undefined;
    onSignal: () => void;
    onFailure: (thrown: unknown) => void;
  }) {
    this.#database = of.database;
    this.#run = of.run;
    this.#key = of.key;
    this.#onSignal = of.onSignal;
    this.#onFailure = of.onFailure;
    this.#statements = of.statements;
    this.#version = this.#statements.dataVersion();
  }

  /** Signals that came since the last look. */
  signals(): readonly TimedSignal[] {
    const rows = this.#database
      .prepare('SELECT id, value, created FROM signals WHERE run = ? ORDER BY created')
      .all(this.#run) as { id: string; value: string; created: number }[];
    const fresh = rows.filter(({ id }) => !this.#seen.has(id));
    for (const { id } of fresh) this.#seen.add(id);
    return fresh.map(({ id, value, created }) => ({
      ...readSignal({ run: this.#run, key: this.#key }, id, value, created),
      time: created,
    }));
  }

  /** The timer ends by itself when nothing is waited for any more: short effects in a row start none anew. */
  watch(): () => void {
    if (this.#isClosed) return () => {};
    this.#watchers += 1;
    this.#timer ??= setInterval(() => this.#tick(), LOOK_MS);
    let isOver = false;
    return () => {
      if (!isOver) this.#watchers -= 1;
      isOver = true;
    };
  }

  #tick(): void {
    try {
      if (this.#watchers === 0) this.#rest();
      else this.look();
    } catch (thrown) {
      this.#onFailure(thrown);
    }
    this.tell();
  }

  /** Whether somebody has written; cheap within a transaction. */
  look(): void {
    const version = this.#statements.dataVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#isNews = true;
  }

  /** Tells in the next turn of the event loop that there is something. */
  hear(): void {
    this.#isNews = true;
    setImmediate(() => {
      if (!this.#isClosed) this.tell();
    });
  }

  /** Tells what was seen. */
  tell(): void {
    if (!this.#isNews) return;
    this.#isNews = false;
    try {
      this.#onSignal();
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Work that was abandoned may still begin something: nobody looks any more. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
  }
}
