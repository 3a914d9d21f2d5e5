import type { MemoryFile } from './memory-file.ts';
import { longer, Postings, readPostings } from './postings.ts';
import { type Allowed, WordScores } from './word-scores.ts';

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
  readonly allowed?: Allowed | undefined;
  /** Also versions that are no longer current. */
  readonly history: boolean;
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
    const saturation = { base: K1 * (1 - B), slope: (K1 * B) / meanTerms, lengths: this.#lengths };
    let most = 0;
    for (const term of terms) {
      const list = this.#postings.list(file, scope.namespace, term);
      const old = scope.history ? readPostings(file, `${scope.namespace}h_${term}`) : undefined;
      const known = list.size + (old?.size ?? 0);
      const entries = Math.max(scope.entries, known) + BACKGROUND;
      const ofTerm = Math.log(1 + (entries - known + 0.5) / (known + 0.5)) * (K1 + 1);
      most += ofTerm;
      this.#words.addTerm(list, ofTerm, saturation, scope.allowed);
      if (old !== undefined) this.#words.addTerm(old, ofTerm, saturation, scope.allowed);
    }
    this.#words.scale = 1 / most;
    return this.#words;
  }

  #learn(file: MemoryFile): void {
    const last = file.get<{ last: number | null }>('SELECT max(number) AS last FROM versions')?.last ?? 0;
    if (last <= this.#known) return;
    if (last >= this.#lengths.length) this.#lengths = longer(this.#lengths, last + 1);
    const numbers = file.numbers('SELECT json_group_array(number) AS list FROM versions WHERE number > ?', this.#known);
    const terms = file.numbers('SELECT json_group_array(terms) AS list FROM versions WHERE number > ?', this.#known);
    numbers.forEach((number, index) => {
      this.#lengths[number] = terms[index] as number;
    });
    this.#known = last;
  }
}
