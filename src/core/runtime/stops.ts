import type { ErrorRecord } from '../values/errors.ts';
import type { Stop } from '../values/status.ts';
import type { Failure } from './journal.ts';

/** Work under way at an address, which a stop above it interrupts. */
export interface Interruptible {
  readonly key: string;
  interrupt(stop: Stop): void;
}

/** True where `key` is `path` or below it. */
export function isWithin(key: string, path: string): boolean {
  return key.startsWith(path) && (key.length === path.length || key.charCodeAt(path.length) === 47);
}

/** The stops of a run, by path prefix (the child may not exist yet), and the work under way. One per run. */
export class Stops {
  #stops: { path: string; stop: Stop }[] | undefined;
  readonly #underWay = new Set<Interruptible>();

  /** The first stop at or above a key. */
  at(key: string): Stop | undefined {
    return this.#stops?.find(({ path }) => isWithin(key, path))?.stop;
  }

  /** The stop of just this path. */
  of(path: string): Stop | undefined {
    return this.#stops?.find((one) => one.path === path)?.stop;
  }

  /** Stops what is at and below `path` and will ever be. A second stop of the same path changes nothing. */
  add(path: string, stop: Stop): void {
    if (this.at(path) !== undefined) return;
    this.#stops ??= [];
    this.#stops.push({ path, stop });
    for (const work of [...this.#underWay]) if (isWithin(work.key, path)) work.interrupt(stop);
  }

  enter(work: Interruptible): void {
    this.#underWay.add(work);
  }

  leave(work: Interruptible): void {
    this.#underWay.delete(work);
  }
}

/** A stop as the error of what it prevented. It is never an outcome: a resume tries again. */
export function stopError(stop: Stop): ErrorRecord {
  return { kind: stop.status, message: stop.reason, retryable: false };
}

/** Whether a recorded end is the work of a stop: what had ended otherwise did so before it came. */
export function isEndOf({ status, reason }: Stop, error: ErrorRecord | undefined): boolean {
  return error?.kind === status && (error.message === reason || error.message.startsWith(`${status}: ${reason}`));
}

/** The failure of what a stop prevented. */
export function stopped(stop: Stop): Failure {
  return { ok: false, error: stopError(stop), stop };
}
