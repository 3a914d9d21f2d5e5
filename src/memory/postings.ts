import type { MemoryFile } from './memory-file.ts';
import { termsOf } from './terms.ts';

/** Where a term stands: number of a version, then how often, in turn. Some may be closed: {@link Postings.isClosed}. */
export type PostingList = readonly number[];

/** Numbers kept in lists, all together; about 64 MB. */
const MAX_NUMBERS = 8_000_000;
/** After so many new versions the lists are read anew. */
const MAX_MISSED = 500;

/** Where terms stand in a file, read when they are first searched and kept in step with every process's writes. */
export class Postings {
  readonly #lists = new Map<string, number[]>();
  #numbers = 0;
  /** The last version and the last change that the lists have. */
  #version = 0;
  #change = 0;
  #closed = new Uint8Array(0);

  /** Closed or removed since its list was read; of other versions this says nothing. */
  isClosed(number: number): boolean {
    return this.#closed[number] === 1;
  }

  /** The list of a term; within a snapshot, after {@link follow}. */
  list(file: MemoryFile, namespace: number, term: string): PostingList {
    const key = `${namespace}_${term}`;
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const list = readPostings(file, key);
    if (this.#numbers + list.length > MAX_NUMBERS) this.#clear();
    this.#lists.set(key, list);
    this.#numbers += list.length;
    return list;
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
    if (version >= this.#closed.length) {
      const more = new Uint8Array(Math.ceil((version + 1) * 1.5));
      more.set(this.#closed);
      this.#closed = more;
    }
    for (const number of numbers) this.#closed[number] = 1;
  }

  #add(file: MemoryFile): void {
    const rows = file.all<{ number: number; namespace: number; text: string }>(
      'SELECT number, namespace, text FROM versions WHERE number > ? AND valid_to IS NULL ORDER BY number',
      this.#version,
    );
    for (const { number, namespace, text } of rows) {
      const counts = new Map<string, number>();
      for (const term of termsOf(text, 'index')) counts.set(term, (counts.get(term) ?? 0) + 1);
      for (const [term, count] of counts) this.#lists.get(`${namespace}_${term}`)?.push(number, count);
    }
  }

  #clear(): void {
    this.#lists.clear();
    this.#numbers = 0;
    this.#closed = new Uint8Array(0);
  }
}

/** The versions in which a key stands, each with how often. */
export function readPostings(file: MemoryFile, key: string): number[] {
  const places = file.numbers('SELECT json_group_array(doc) AS list FROM postings WHERE term = ?', key);
  const list: number[] = [];
  for (let at = 0; at < places.length; ) {
    const number = places[at] as number;
    let count = 0;
    while (places[at] === number) {
      count += 1;
      at += 1;
    }
    list.push(number, count);
  }
  return list;
}
