import type { MemoryFile } from './memory-file.ts';

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

/**
 * BM25 over the most the query could score: the share of the query's information that an entry holds, by row number. All
 * statistics are of the namespace, so that a score tells nothing of another. Words that the namespace does not know count as
 * missing.
 */
export class LexicalScores {
  /** Terms of each version, by row number: a version never changes, so this only grows. */
  #lengths = new Uint32Array(1_024);
  #known = 0;

  score(file: MemoryFile, scope: LexicalScope, terms: readonly string[]): Map<number, number> {
    this.#learn(file);
    const meanTerms = Math.max(1, scope.terms / Math.max(1, scope.entries));
    const scores = new Map<number, number>();
    let most = 0;
    for (const term of terms) {
      const found = postings(file, `${scope.namespace}_${term}`);
      if (scope.history) found.push(...postings(file, `${scope.namespace}h_${term}`));
      const known = distinct(found);
      const entries = Math.max(scope.entries, known) + BACKGROUND;
      const idf = Math.log(1 + (entries - known + 0.5) / (known + 0.5));
      most += idf * (K1 + 1);
      this.#add(scores, found, idf, meanTerms, scope.allowed);
    }
    for (const [number, score] of scores) scores.set(number, score / most);
    return scores;
  }

  #add(
    scores: Map<number, number>,
    found: readonly number[],
    idf: number,
    meanTerms: number,
    allowed: LexicalScope['allowed'],
  ): void {
    for (let at = 0; at < found.length; ) {
      const number = found[at] as number;
      let count = 0;
      while (found[at] === number) {
        count += 1;
        at += 1;
      }
      if (allowed !== undefined && !allowed.has(number)) continue;
      const length = this.#lengths[number] as number;
      const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / meanTerms));
      scores.set(number, (scores.get(number) ?? 0) + idf * weight);
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

/** The row of each place where a term stands, equal ones together. */
function postings(file: MemoryFile, term: string): number[] {
  return file.numbers('SELECT json_group_array(doc) AS list FROM postings WHERE term = ?', term);
}

function distinct(sorted: readonly number[]): number {
  let count = 0;
  for (let index = 0; index < sorted.length; index++) if (sorted[index] !== sorted[index - 1]) count += 1;
  return count;
}
