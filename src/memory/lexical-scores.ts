import type { MemoryFile } from './memory-file.ts';
import { type PostingList, Postings, readPostings } from './postings.ts';

/** BM25 (Robertson & Zaragoza 2009) with its usual constants. */
const K1 = 1.2;
const B = 0.75;
/** Entries without the term that are assumed beside the namespace's own: with three notes, what is rare is not known yet. */
const BACKGROUND = 20;

export interface LexicalScope {
  readonly namespace: number;
  readonly entries: number;
  readonly terms: number;
  /** Only these versions are scored; the statistics are of the whole namespace. */
  readonly allowed?: { has(number: number): boolean } | undefined;
  /** Also versions that are no longer current. */
  readonly history: boolean;
}

/** Scores by row number. Valid until the next search. */
export class WordScores {
  /** Before scaling; 0 where there is none. */
  #sums = new Float64Array(1_024);
  #numbers: number[] = [];
  #scale = 1;

  /** Rows that have a score. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  get(number: number): number {
    return (this.#sums[number] ?? 0) * this.#scale;
  }

  /** Adds to a sum that {@link scale} makes a score. */
  add(number: number, sum: number): void {
    const before = this.#sums[number] as number;
    if (before === 0) this.#numbers.push(number);
    this.#sums[number] = before + sum;
  }

  sum(number: number): number {
    return this.#sums[number] ?? 0;
  }

  scale(by: number): void {
    this.#scale = by;
  }

  /** Empty, with room for rows up to this one. */
  clear(last: number): void {
    if (last >= this.#sums.length) this.#sums = new Float64Array(Math.ceil((last + 1) * 1.5));
    else if (this.#numbers.length > last / 16) this.#sums.fill(0);
    else for (const number of this.#numbers) this.#sums[number] = 0;
    this.#numbers = [];
  }
}

/**
 * BM25 over the most the query could score: the share of the query's information that an entry holds, by row number. All
 * statistics are of the namespace, so that a score tells nothing of another. Words that the namespace does not know count as
 * missing.
 */
export class LexicalScores {
  readonly #postings = new Postings();
  readonly #words = new WordScores();
  /** Terms of each version, by row number: a version never changes, so this only grows. */
  #lengths = new Uint32Array(1_024);
  #known = 0;

  score(file: MemoryFile, scope: LexicalScope, terms: readonly string[]): WordScores {
    this.#learn(file);
    this.#postings.follow(file);
    this.#words.clear(this.#known);
    const meanTerms = Math.max(1, scope.terms / Math.max(1, scope.entries));
    let most = 0;
    for (const term of terms) {
      const list = this.#postings.list(file, scope.namespace, term);
      const old = scope.history ? readPostings(file, `${scope.namespace}h_${term}`) : [];
      const known = this.#count(list) + old.length / 2;
      const entries = Math.max(scope.entries, known) + BACKGROUND;
      const idf = Math.log(1 + (entries - known + 0.5) / (known + 0.5));
      most += idf * (K1 + 1);
      this.#add(list, idf, meanTerms, scope.allowed);
      if (old.length > 0) this.#add(old, idf, meanTerms, scope.allowed, true);
    }
    this.#words.scale(1 / most);
    return this.#words;
  }

  #count(list: PostingList): number {
    let count = 0;
    for (let at = 0; at < list.length; at += 2) if (!this.#postings.isClosed(list[at] as number)) count += 1;
    return count;
  }

  #add(list: PostingList, idf: number, meanTerms: number, allowed: LexicalScope['allowed'], closed = false): void {
    for (let at = 0; at < list.length; at += 2) {
      const number = list[at] as number;
      if (!closed && this.#postings.isClosed(number)) continue;
      if (allowed !== undefined && !allowed.has(number)) continue;
      const count = list[at + 1] as number;
      const length = this.#lengths[number] as number;
      const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / meanTerms));
      this.#words.add(number, idf * weight);
    }
  }

  #learn(file: MemoryFile): void {
    const last = file.get<{ last: number | null }>('SELECT max(number) AS last FROM versions')?.last ?? 0;
    if (last <= this.#known) return;
    if (last >= this.#lengths.length) {
      const more = new Uint32Array(Math.ceil(last * 1.5));
      more.set(this.#lengths);
      this.#lengths = more;
    }
    const numbers = file.numbers('SELECT json_group_array(number) AS list FROM versions WHERE number > ?', this.#known);
    const terms = file.numbers('SELECT json_group_array(terms) AS list FROM versions WHERE number > ?', this.#known);
    numbers.forEach((number, index) => {
      this.#lengths[number] = terms[index] as number;
    });
    this.#known = last;
  }
}
