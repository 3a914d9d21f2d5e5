import { ConfigurationError } from './errors.ts';
import { canonical, sha256 } from './json.ts';

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
