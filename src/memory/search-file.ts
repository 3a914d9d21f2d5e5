import { canonical, type Json } from '../core/json.ts';
import { dotProduct } from './cosine-similarity.ts';
import type { MemoryFile } from './memory-file.ts';

/** Below this a match is chance: a common word out of a long query. */
export const DEFAULT_MIN_SCORE = 0.1;
/** Share of the vector leg where both legs speak; the rest is the lexical leg's. */
const VECTOR_WEIGHT = 0.5;

/** BM25 (Robertson & Zaragoza 2009) with its usual constants. */
const K1 = 1.2;
const B = 0.75;
/** Entries without the term that are assumed beside the namespace's own: with three notes, what is rare is not known yet. */
const BACKGROUND = 20;

export interface FileQuery {
  readonly namespace: string;
  /** Without duplicates. */
  readonly terms: readonly string[];
  readonly embedder: { readonly id: string; readonly vector: Float32Array } | undefined;
  readonly where: { readonly [key: string]: Json };
  readonly topK: number;
  readonly minScore: number;
}

export interface Scored {
  /** Number of the entry's row. */
  readonly entry: number;
  readonly score: number;
}

interface Scope {
  readonly namespace: number;
  readonly entries: number;
  readonly meanTerms: number;
  readonly filter: string;
  readonly filterValues: readonly string[];
}

/** The best entries of one namespace: filtered first, then scored, best first; equal scores in the order they were added. */
export function searchFile(file: MemoryFile, query: FileQuery): Scored[] {
  const row = file.get<{ number: number; entries: number; terms: number }>(
    'SELECT number, entries, terms FROM namespaces WHERE name = ?',
    query.namespace,
  );
  if (row === undefined) return [];
  const filters = Object.entries(query.where);
  const scope: Scope = {
    namespace: row.number,
    entries: row.entries,
    meanTerms: Math.max(1, row.terms / row.entries),
    filter: filters.map(() => 'AND entry IN (SELECT entry FROM facets WHERE key = ? AND value = ?)').join(' '),
    filterValues: filters.flatMap(([key, value]) => [key, canonical(value)]),
  };
  const scores = lexicalScores(file, scope, query.terms);
  if (query.embedder !== undefined) {
    for (const [entry, cosine] of cosineScores(file, scope, query.embedder)) {
      scores.set(entry, fuse(cosine, scores.get(entry) ?? 0));
    }
  }
  return best(scores, query.topK, query.minScore);
}

/**
 * Convex combination of both legs, each scaled by the least and most it can be (min–max with theoretical bounds; Bruch, Gai &
 * Ingber 2023): unlike ranks or the bounds of one result list, it leaves room for "nothing fits".
 */
function fuse(cosine: number, lexical: number): number {
  return VECTOR_WEIGHT * Math.max(0, cosine) + (1 - VECTOR_WEIGHT) * lexical;
}

/**
 * BM25 over the most the query could score: the share of the query's information that an entry holds. All statistics are of
 * the namespace, so that a score tells nothing of another. Words that the namespace does not know count as missing.
 */
function lexicalScores(file: MemoryFile, scope: Scope, terms: readonly string[]): Map<number, number> {
  const scores = new Map<number, number>();
  let most = 0;
  for (const term of terms) {
    const key = `${scope.namespace}_${term}`;
    const known = file.get<{ doc: number }>('SELECT doc FROM frequencies WHERE term = ?', key)?.doc ?? 0;
    const idf = Math.log(1 + (scope.entries + BACKGROUND - known + 0.5) / (known + 0.5));
    most += idf * (K1 + 1);
    if (known === 0) continue;
    const rows = file.iterate<{ entry: number; count: number; terms: number }>(
      `SELECT p.doc AS entry, count(*) AS count, e.terms AS terms FROM postings p JOIN entries e ON e.number = p.doc
       WHERE p.term = ? ${scope.filter} GROUP BY p.doc`,
      key,
      ...scope.filterValues,
    );
    for (const { entry, count, terms: length } of rows) {
      const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / scope.meanTerms));
      scores.set(entry, (scores.get(entry) ?? 0) + idf * weight);
    }
  }
  for (const [entry, score] of scores) scores.set(entry, score / most);
  return scores;
}

function* cosineScores(
  file: MemoryFile,
  scope: Scope,
  embedder: { readonly id: string; readonly vector: Float32Array },
): Generator<[number, number]> {
  const rows = file.iterate<{ entry: number; data: Uint8Array }>(
    `SELECT entry, data FROM vectors WHERE namespace = ? AND embedder = ? AND dimensions = ? ${scope.filter}`,
    scope.namespace,
    embedder.id,
    embedder.vector.length,
    ...scope.filterValues,
  );
  for (const { entry, data } of rows) {
    const bytes = data.byteOffset % 4 === 0 ? data : data.slice();
    const vector = new Float32Array(bytes.buffer, bytes.byteOffset, embedder.vector.length);
    yield [entry, dotProduct(vector, embedder.vector)];
  }
}

function best(scores: ReadonlyMap<number, number>, topK: number, minScore: number): Scored[] {
  const list: Scored[] = [];
  for (const [entry, score] of scores) {
    // Rounding may carry a perfect match a hair above 1.
    if (score >= minScore && score > 0) list.push({ entry, score: Math.min(1, score) });
  }
  return list.sort((a, b) => b.score - a.score || a.entry - b.entry).slice(0, topK);
}
