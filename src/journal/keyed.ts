import type { DetachedOutcome } from '../core/contract/detached.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../core/contract/permission.ts';
import type { Draft } from '../core/contract/record.ts';
import { envelope } from '../core/runtime/envelope.ts';
import { Stopped } from '../core/runtime/guard.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Call, DetachedCall, Journal, Outcome } from '../core/runtime/journal.ts';
import type { Kind, OnceKey, StoredEnd, StoredStart } from '../core/runtime/stored-entry.ts';
import type { ErrorRecord } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';
import { effect } from './effect.ts';
import type { JournalParts } from './journal-parts.ts';
import { sleep, wait } from './pause.ts';
import { readOnce } from './read-row.ts';
import type { RunLog } from './record-store.ts';
import { type Opened, Recorder } from './recorder.ts';

/** Effects addressed by key: kept in memory, and in a log where the run has one. */
export class KeyedJournal implements Journal {
  readonly #parts: JournalParts;
  readonly #recorder: Recorder;

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#recorder = new Recorder(parts);
  }

  attach(log: RunLog): void {
    this.#recorder.attach(log);
  }

  get isWatched(): boolean {
    return this.#recorder.isWatched;
  }

  get isDurable(): boolean {
    return this.#parts.log !== undefined || this.#parts.history !== undefined;
  }

  get isResumed(): boolean {
    return this.#parts.history !== undefined;
  }

  has(key: string): boolean {
    return this.#parts.history?.has(key) ?? false;
  }

  recall<K extends Kind>(kind: K, key: string): StoredEnd<K> | undefined {
    return this.#parts.history?.take(kind, key)?.ended;
  }

  recallStart<K extends Kind>(kind: K, key: string): StoredStart<K> | undefined {
    return this.#parts.history?.take(kind, key)?.started;
  }

  recallOnce<T>(key: OnceKey<T>): T | undefined {
    const ended = this.#parts.history?.take('once', key)?.ended;
    return ended && readOnce(ended, key);
  }

  hasBegun(path: string): boolean {
    return this.#parts.history?.hasBegun(path) ?? false;
  }

  open(draft: Draft): Opened {
    return this.#recorder.open(draft);
  }

  noteOpened(opened: readonly Opened[]): void {
    this.#recorder.noteOpened(opened);
  }

  abandoned(error: ErrorRecord): bigint {
    return this.#recorder.abandoned(error);
  }

  note(draft: Draft): bigint {
    return this.#recorder.note(draft);
  }

  inOrder(show: () => void): void {
    this.#recorder.inOrder(show);
  }

  showAsks(key: string, self: Invocation, step: number): void {
    this.#recorder.playback?.asks(key, self, step);
  }

  /** Of a replay. */
  showPlayed(): void {
    this.#recorder.showPlayed();
  }

  effect<T>(call: Call<T>): Promise<Outcome<T>> {
    return effect(this.#parts, this.#recorder, call);
  }

  child(call: DetachedCall): Promise<Outcome<DetachedOutcome>> {
    return this.effect(call);
  }

  once<T>(key: OnceKey<T>, self: Invocation, propose: () => T): T {
    const { history, isReplay, stops } = this.#parts;
    const recorded = history?.take('once', key)?.ended;
    if (recorded !== undefined) return readOnce(recorded, key);
    if (isReplay) {
      this.#parts.cancellation.recordsEnd(key);
      throw new Stopped(stops.at(key) ?? { status: 'suspended', reason: 'The records end here.' });
    }
    const entry = { ...envelope(self, key), kind: 'once', event: 'done' } as const;
    const value = propose();
    if (value instanceof Promise) return this.#proposed(entry, value) as T;
    this.note({ ...entry, value: value as Json });
    return value;
  }

  async #proposed<T>(entry: OnceEntry, proposed: Promise<T>): Promise<T> {
    const value = await proposed;
    this.note({ ...entry, value: value as Json });
    return value;
  }

  wait(
    key: string,
    self: Invocation,
    step: number,
    request: ApprovalRequest | WaitRequest,
  ): Promise<Outcome<Decision>> {
    return wait(this.#parts, this.#recorder, key, self, step, request);
  }

  sleep(key: string, self: Invocation, ms: number): Promise<Outcome<null>> {
    const until = () => this.once(`${key}/@deadline`, self, () => Date.now() + ms);
    return sleep(this.#parts, this.#recorder, key, self, until);
  }
}

type OnceEntry = Omit<Extract<Draft, { kind: 'once' | 'sleep' }>, 'value' | 'request' | 'since'>;
