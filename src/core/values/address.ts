import { ConfigurationError } from './errors.ts';
import { canonical, sha256 } from './json.ts';

/** The address of a call beside another of the same step: `lead/2/model` → `lead/2/@continue`, `lead/2/@repair` → `lead/2/@repair.continue`. */
export function beside(key: string, what: string): string {
  const at = key.lastIndexOf('/') + 1;
  return key.charCodeAt(at) === 64 ? `${key}.${what}` : `${key.slice(0, at)}@${what}`;
}

/** The address of the `round`th thing of its kind beside a call: `lead/2/@summary`, `lead/2/@summary.2`. */
export function besideAgain(key: string, what: string, round: number): string {
  return beside(key, round === 1 ? what : `${what}.${round}`);
}

const SUMMARY = /@(?:[^/]*\.)?summary(?:\.\d+)?$/;

/** Whether a model call writes a summary: what it says is no text of the agent's. */
export function isSummary(key: string): boolean {
  return SUMMARY.test(key);
}

/** The same on every retry and resume, new in a fork. */
export function idempotencyKey(runId: string, key: string): string {
  return sha256(`${runId}|${key}`);
}

/** A legal id of the user's: a part of an address. */
const ID = /^[^/@~\s\0][^/\s\0]{0,199}$/u;

/** The addresses of a procedure's calls: what is called and with what, not when, so branches of a `Promise.all` may interleave as they like. */
export class Addresses {
  readonly #base: string;
  readonly #ordinals = new Map<string, number>();
  readonly #ids = new Set<string>();

  /** All lie below `base`. */
  constructor(base: string) {
    this.#base = base;
  }

  /** By name, hash of the input and ordinal among equal ones; or by an id of the user's. */
  of(name: string, input: unknown, id?: string): string {
    if (id !== undefined) return this.named(id);
    const stem = `${name}~${sha256(canonical(input)).slice(0, 8)}`;
    const ordinal = this.#ordinals.get(stem) ?? 0;
    this.#ordinals.set(stem, ordinal + 1);
    return `${this.#base}/${stem}.${ordinal}`;
  }

  named(id: string): string {
    // A lone surrogate would not come back from a file as it was.
    if (typeof id !== 'string' || !ID.test(id) || !id.isWellFormed()) {
      throw new ConfigurationError(
        'id',
        `illegal id ${JSON.stringify(id)}`,
        'An id has no blank, no slash and no NUL and does not begin with @ or ~.',
      );
    }
    if (this.#ids.has(id))
      throw new ConfigurationError(
        'id',
        `duplicate id ${JSON.stringify(id)}`,
        'Give each call of a procedure its own id.',
      );
    this.#ids.add(id);
    return `${this.#base}/${id}`;
  }
}
