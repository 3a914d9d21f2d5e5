import type { MemoryFile } from '../file/memory-file.ts';
import { longer } from './postings.ts';

/** What never changes of a version. */
const COLUMNS = {
  /** Terms of its text. */
  terms: 'terms',
  /** When it began to be valid, in milliseconds since 1970. */
  begins: 'valid_from',
  source: 'source',
} as const;

/** Numbers by row number. */
export type Column = Float64Array | Uint32Array;

/** A fact of each version by row number, read on first use. A version never changes, so this only grows. */
export class VersionColumn<Values extends Column> {
  readonly #sql: string;
  /** Texts are numbered in the order in which they were met, from 1. */
  readonly #texts = new Map<string, number>();
  #values: Values;
  #known = 0;

  /** `empty` determines the type of the numbers. */
  constructor(name: keyof typeof COLUMNS, empty: Values) {
    this.#values = empty;
    this.#sql = `SELECT json_group_array(number) AS numbers, json_group_array(${COLUMNS[name]}) AS list
      FROM versions WHERE number > ?`;
  }

  /** The last version that it has. */
  get last(): number {
    return this.#known;
  }

  /** By row number; within a snapshot. */
  read(file: MemoryFile): Values {
    const last = file.get<{ last: number | null }>('SELECT max(number) AS last FROM versions')?.last ?? 0;
    if (last <= this.#known) return this.#values;
    if (last >= this.#values.length) this.#values = longer(this.#values, last + 1);
    const row = file.get<{ numbers: string; list: string }>(this.#sql, this.#known);
    const numbers = JSON.parse(row?.numbers ?? '[]') as number[];
    const list = JSON.parse(row?.list ?? '[]') as (number | string)[];
    numbers.forEach((number, index) => {
      const value = list[index] ?? 0;
      this.#values[number] = typeof value === 'number' ? value : this.#numberOf(value);
    });
    this.#known = last;
    return this.#values;
  }

  #numberOf(text: string): number {
    const number = this.#texts.get(text) ?? this.#texts.size + 1;
    this.#texts.set(text, number);
    return number;
  }
}
