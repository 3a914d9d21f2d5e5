import type { MemoryFile } from '../file/memory-file.ts';
import { Postings, readPostings } from './postings.ts';
import { VersionColumn } from './version-column.ts';
import { type Allowed, WordScores } from './word-scores.ts';

/** BM25 (Robertson & Zaragoza 2009) with its usual constants. */
const K1 = 1.2;
const B = 0.75;
/** Entries without the term that are assumed beside the namespace's own: three notes do not show yet which terms are rare. */
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
 * BM25 over the most the query could score: the share of the query's information that an entry holds, by row number. All statistics are of the namespace, so that a
 * score reveals nothing of another. Words that are not in the namespace count as missing.
 */
export class LexicalScores {
  readonly postings = new Postings();
  readonly #words = new WordScores();
  readonly #lengths = new VersionColumn('terms', new Uint32Array(0));

  score(file: MemoryFile, scope: LexicalScope, terms: readonly string[]): WordScores {
    const lengths = this.#lengths.read(file);
    this.postings.follow(file);
    this.#words.clear(this.#lengths.last);
    const meanTerms = Math.max(1, scope.terms / Math.max(1, scope.entries));
    const saturation = { base: K1 * (1 - B), slope: (K1 * B) / meanTerms, lengths };
    let most = 0;
    for (const term of terms) {
      const list = this.postings.list(file, scope.namespace, term);
      const old = scope.history ? readPostings(file, `${scope.namespace}h_${term}`) : undefined;
      const matching = list.size + (old?.size ?? 0);
      const entries = Math.max(scope.entries, matching) + BACKGROUND;
      const ofTerm = Math.log(1 + (entries - matching + 0.5) / (matching + 0.5)) * (K1 + 1);
      most += ofTerm;
      this.#words.addTerm(list, ofTerm, saturation, scope.allowed);
      if (old !== undefined) this.#words.addTerm(old, ofTerm, saturation, scope.allowed);
    }
    this.#words.scale = 1 / most;
    return this.#words;
  }
}
