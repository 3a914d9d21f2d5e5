import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Signal, TimedSignal } from '../record-store.ts';
import type { Statements } from './statements.ts';

const LOOK_MS = 50;

/** Looks for signals of other processes: with each commit, and while something is waited for. */
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

  /** Notes whether another connection has written; cheap within a transaction. */
  look(): void {
    const version = this.#statements.dataVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#isNews = true;
  }

  /** Calls `onSignal` in the next turn of the event loop. */
  hear(): void {
    this.#isNews = true;
    setImmediate(() => {
      if (!this.#isClosed) this.tell();
    });
  }

  /** Calls `onSignal` where `look` has found something. */
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

  /** No watch begins after this: abandoned work may still ask for one. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
  }
}

/** What each kind of signal must hold beside its id. */
const HOLDS: { readonly [kind in Signal['kind']]: (signal: { readonly [name: string]: unknown }) => boolean } = {
  decision: ({ decision }) => isPlainObject(decision) && typeof decision.decision === 'string',
  cancel: ({ path, reason }) => typeof path === 'string' && typeof reason === 'string',
  steer: ({ path, message }) => typeof path === 'string' && isPlainObject(message),
};

/**
 * A signal as its sender wrote it. No chain vouches for it, since any process may send one; in a journal with a key its sender has that.
 *
 * @throws JournalError where it is none: it says which.
 */
function readSignal(
  { run, key }: { readonly run: string; readonly key: string | undefined },
  id: string,
  text: string,
  time: number,
): Signal {
  const stored = jsonOf(text);
  const { mac, ...signal } = isPlainObject(stored) ? stored : {};
  const isOurs = isSignal(signal) && signal.id === id;
  if (isOurs && (key === undefined || isSigned(run, signal, mac, time, key))) return signal;
  const problem = isOurs ? 'was sent by somebody without the key of the journal' : 'is nothing that a run can be told';
  throw new JournalError(
    `run ${run}: what it was told as ${JSON.stringify(id)} was changed or ${problem}. Go on in a fork of it (cox fork): what was told stays behind.`,
  );
}

function isSignal(value: unknown): value is Signal {
  if (!isPlainObject(value) || typeof value.kind !== 'string') return false;
  return Object.hasOwn(HOLDS, value.kind) && HOLDS[value.kind as Signal['kind']](value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A signal as it is stored: in a journal with a key it is signed, since an answer decides as much as a record. */
export function storedSignal(run: string, signal: Signal, time: number, key: string | undefined): string {
  return JSON.stringify(key === undefined ? signal : { ...signal, mac: macOf(run, signal, time, key) });
}

/** Whether the writer of a signal had the key; `mac` is stored beside the signal. */
export function isSigned(run: string, signal: Signal, mac: unknown, time: number, key: string): boolean {
  return mac === macOf(run, signal, time, key);
}

function macOf(run: string, signal: Signal, time: number, key: string): string {
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', key)
    .update(`${run.length} ${time}\n${run}${JSON.stringify(signal)}`)
    .digest('hex');
}
