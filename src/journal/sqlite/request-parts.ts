import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { FreshRow } from '../record-store.ts';
import type { Row } from '../row.ts';

/** Names the record that has the parts which are left out. */
const LIKE = '@like';

type Parts = { readonly [part: string]: string };

/**
 * The hashes of a model's request seldom change within an invocation: a row leaves out what is as in an earlier one, and names
 * that. So a step costs less, and the same however long the run is.
 */
export class RequestParts {
  /** The newest whole request of each invocation. */
  readonly #whole = new Map<string, { readonly record: number; readonly parts: Parts }>();

  /** The request as it is stored. */
  shorten({ kind, event, key, record, request }: FreshRow): unknown {
    if (kind !== 'model' || event !== 'started' || !isPlainObject(request)) return request;
    const at = invocationOf(key);
    const whole = this.#whole.get(at);
    const parts = partsOf(request);
    if (whole !== undefined && isAlike(whole.parts, parts)) {
      const rest = Object.entries(request).filter(([part, value]) => whole.parts[part] !== value);
      return { [LIKE]: whole.record, ...Object.fromEntries(rest) };
    }
    this.#whole.set(at, { record, parts });
    return request;
  }
}

/** Requests as they were given; asked for all rows of a run in order. */
export class WholeRequests {
  readonly #whole = new Map<number, Parts>();

  of({ kind, event, record }: Pick<Row, 'kind' | 'event' | 'record'>, stored: Json | undefined): Json | undefined {
    if (kind !== 'model' || event !== 'started' || !isPlainObject(stored)) return stored;
    const { [LIKE]: like, ...own } = stored as { readonly [part: string]: Json };
    if (typeof like === 'number') return { ...this.#whole.get(like), ...own };
    this.#whole.set(record, partsOf(stored));
    return stored;
  }
}

/** What is a text can be left out: hashes, names. */
function partsOf(request: { readonly [part: string]: unknown }): Parts {
  const texts = Object.entries(request).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts);
}

/** The same parts, and no more than the messages differ. */
function isAlike(whole: Parts, parts: Parts): boolean {
  const names = Object.keys(parts);
  return (
    names.length === Object.keys(whole).length &&
    names.every((part) => Object.hasOwn(whole, part)) &&
    names.filter((part) => whole[part] !== parts[part]).length <= 1
  );
}

/** `lead/2/model` is of `lead`. */
function invocationOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/', key.lastIndexOf('/') - 1));
}
