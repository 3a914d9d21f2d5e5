import type { MemoryFile } from '../file/memory-file.ts';
import { termsOf } from '../file/terms.ts';

/** The versions with a term, by number, each with its count; the first `size` of each array. */
export interface PostingList {
  readonly numbers: Uint32Array;
  readonly counts: Uint32Array;
  readonly size: number;
}

/** A list that follows changes of the file. */
interface CachedList {
  numbers: Uint32Array;
  counts: Uint32Array;
  size: number;
  /** The number of closings that it contains. */
  closings: number;
}

/** Postings in all cached lists together; about 64 MB. */
const MAX_POSTINGS = 8_000_000;
/** After so many new versions the lists are read anew. */
const MAX_MISSED = 500;

/** Postings of a file, read when a term is first searched and updated with every process's writes. */
export class Postings {
  readonly #lists = new Map<string, CachedList>();
  #postings = 0;
  /** The last version and the last change that the lists have. */
  #version = 0;
  #change = 0;
  /** Versions that were closed or removed since lists were read, and how often some were. */
  #closed = new Uint8Array(0);
  #closings = 0;

  /** The current versions with a term; within a snapshot, after {@link follow}. */
  list(file: MemoryFile, namespace: number, term: string): PostingList {
    const key = `${namespace}_${term}`;
    return this.#cached(key, () => readPostings(file, key));
  }

  #cached(key: string, read: () => PostingList): CachedList {
    const cached = this.#lists.get(key);
    if (cached !== undefined) {
      if (cached.closings !== this.#closings) this.#withoutClosed(cached);
      return cached;
    }
    const list = { ...read(), closings: this.#closings };
    if (this.#postings + list.size > MAX_POSTINGS) this.#clear();
    this.#lists.set(key, list);
    this.#postings += list.size;
    return list;
  }

  /** The current versions of a namespace, ascending; within a snapshot, after {@link follow}. */
  current(file: MemoryFile, namespace: number): Uint32Array {
    const { numbers, size } = this.#cached(everyOf(namespace), () => {
      const sql = 'SELECT json_group_array(number) AS list FROM versions WHERE namespace = ? AND valid_to IS NULL';
      const all = Uint32Array.from(file.numbers(sql, namespace)).sort();
      return { numbers: all, counts: new Uint32Array(all.length), size: all.length };
    });
    return numbers.subarray(0, size);
  }

  /** Takes in what was written since; within a snapshot. */
  follow(file: MemoryFile): void {
    const state = file.get<{ version: number | null; first: number | null; last: number | null }>(
      `SELECT (SELECT max(number) FROM versions) AS version, (SELECT min(seq) FROM changes) AS first,
         (SELECT max(seq) FROM changes) AS last`,
    );
    const version = Math.max(state?.version ?? 0, this.#version);
    const last = state?.last ?? 0;
    const missed = (state?.first ?? 0) > this.#change + 1 || version - this.#version > MAX_MISSED;
    if (missed) this.#clear();
    if (this.#lists.size > 0) {
      if (last > this.#change) this.#close(file, version);
      if (version > this.#version) this.#add(file);
    }
    this.#version = version;
    this.#change = last;
  }

  #close(file: MemoryFile, version: number): void {
    const numbers = file.numbers(
      'SELECT json_group_array(version) AS list FROM changes WHERE seq > ? AND segment = 0',
      this.#change,
    );
    if (numbers.length === 0) return;
    if (version >= this.#closed.length) this.#closed = longer(this.#closed, version + 1);
    for (const number of numbers) this.#closed[number] = 1;
    this.#closings += 1;
  }

  #withoutClosed(list: CachedList): void {
    const { numbers, counts } = list;
    let size = 0;
    for (let at = 0; at < list.size; at++) {
      const number = numbers[at] as number;
      if (this.#closed[number] === 1) continue;
      numbers[size] = number;
      counts[size] = counts[at] as number;
      size += 1;
    }
    list.size = size;
    list.closings = this.#closings;
  }

  #add(file: MemoryFile): void {
    const rows = file.all<{ number: number; namespace: number; text: string }>(
      'SELECT number, namespace, text FROM versions WHERE number > ? AND valid_to IS NULL ORDER BY number',
      this.#version,
    );
    for (const { number, namespace, text } of rows) {
      const every = this.#lists.get(everyOf(namespace));
      if (every !== undefined) append(every, number, 0);
      const counts = new Map<string, number>();
      for (const term of termsOf(text, 'index')) counts.set(term, (counts.get(term) ?? 0) + 1);
      for (const [term, count] of counts) {
        const list = this.#lists.get(`${namespace}_${term}`);
        if (list !== undefined) append(list, number, count);
      }
    }
  }

  #clear(): void {
    this.#lists.clear();
    this.#postings = 0;
    this.#closed = new Uint8Array(0);
  }
}

/** No term's key: terms begin with a letter, a number or an underscore. */
function everyOf(namespace: number): string {
  return `${namespace}_ every`;
}

function append(list: CachedList, number: number, count: number): void {
  if (list.size === list.numbers.length) {
    list.numbers = longer(list.numbers, list.size + 1);
    list.counts = longer(list.counts, list.size + 1);
  }
  list.numbers[list.size] = number;
  list.counts[list.size] = count;
  list.size += 1;
}

/** The versions with a key, each with its count. */
export function readPostings(file: MemoryFile, key: string): PostingList {
  const documents = file.numbers('SELECT json_group_array(doc) AS list FROM postings WHERE term = ?', key);
  const numbers = new Uint32Array(documents.length);
  const counts = new Uint32Array(documents.length);
  let size = 0;
  for (const number of documents) {
    if (size > 0 && numbers[size - 1] === number) counts[size - 1] = (counts[size - 1] as number) + 1;
    else {
      numbers[size] = number;
      counts[size] = 1;
      size += 1;
    }
  }
  return { numbers, counts, size };
}

/** A copy with capacity for 1.5 times `length`. */
export function longer<T extends Uint8Array | Uint32Array | Float64Array>(list: T, length: number): T {
  const more = new (list.constructor as new (length: number) => T)(Math.ceil(length * 1.5));
  more.set(list);
  return more;
}
