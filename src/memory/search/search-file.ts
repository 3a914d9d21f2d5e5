import { canonical } from '../../core/values/json.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { type VersionRow, versionByNumber } from '../file/versions.ts';
import { dotProduct, floatsOf } from '../vectors/cosine-similarity.ts';
import { fusedScore, type Ranked, rank } from '../vectors/rank.ts';
import { TopK } from '../vectors/top-k.ts';
import type { LexicalScores } from './lexical-scores.ts';
import type { ParsedSearch } from './search-options.ts';
import type { VectorIndex } from './vector-index.ts';
import type { VersionColumn } from './version-column.ts';
import type { Allowed, WordScores } from './word-scores.ts';

/** The weight of the vector score if both scores exist; the rest is the lexical weight. */
const VECTOR_WEIGHT = 0.5;

export interface FileQuery extends Omit<ParsedSearch, 'vector'> {
  /** Without duplicates. */
  readonly terms: readonly string[];
  readonly embedder: { readonly id: string; readonly vector: Float32Array } | undefined;
  /** Milliseconds since 1970, for the age of entries. */
  readonly now: number;
}

export interface Found {
  readonly row: VersionRow;
  readonly score: number;
}

interface Legs {
  readonly lexical: LexicalScores;
  readonly vectors: VectorIndex;
  readonly begins: VersionColumn<Float64Array>;
  readonly sources: VersionColumn<Uint32Array>;
}

/** The best entries of one namespace: filtered first, then scored, best first; equal scores in the order they were added. */
export function searchFile(file: MemoryFile, legs: Legs, query: FileQuery): Found[] {
  const scope = file.get<{ number: number; entries: number; terms: number }>(
    'SELECT number, entries, terms FROM namespaces WHERE name = ?',
    query.namespace,
  );
  if (scope === undefined) return [];
  legs.lexical.postings.follow(file);
  const closed = query.at === undefined ? [] : closedAt(file, scope.number, query.at);
  const allowed = allowedBy(file, legs, scope.number, query, closed);
  if (allowed?.numbers.length === 0) return [];
  // Neighbours may be of another kind than what is looked for: they are scored, and only then filtered.
  const spreads = query.neighbours > 0;
  const history = query.at !== undefined;
  const lexical = { ...scope, namespace: scope.number, history, allowed: spreads ? undefined : allowed };
  const words = legs.lexical.score(file, lexical, query.terms);
  if (spreads) {
    const numbers = legs.lexical.postings.current(file, scope.number);
    addNeighbourScores(words, numbers, legs.sources.read(file), query.neighbours);
  }
  const age = ageFactor(query, query.recency === undefined ? undefined : legs.begins.read(file));
  const best = (k: number) => rankBoth(file, legs.vectors, { scope, words, allowed, closed, age, k, query });
  return chosen(file, best, query);
}

interface Ranking {
  readonly scope: { readonly number: number; readonly entries: number };
  readonly words: WordScores;
  readonly allowed: Allowed | undefined;
  /** Entries that are valid at the requested time. */
  readonly closed: readonly number[];
  readonly age: (number: number) => number;
  readonly k: number;
  readonly query: FileQuery;
}

/**
 * Convex combination of both legs, each scaled by the least and most it can be (min–max with theoretical bounds; Bruch, Gai &
 * Ingber 2023): unlike ranks or the bounds of one result list, it leaves room for "nothing fits". What has no vector keeps
 * its words' score.
 */
function rankBoth(file: MemoryFile, index: VectorIndex, ranking: Ranking): Ranked[] {
  const { words, allowed, closed, age, k, query, scope } = ranking;
  const { embedder } = query;
  const fusion = { weight: VECTOR_WEIGHT, words: words.sums, scale: (1 - VECTOR_WEIGHT) * words.scale, age };
  const top = new TopK(k);
  const row = embedder && segmentRow(file, scope.number, embedder);
  const segment = row && embedder && index.segment(file, row.number, embedder.vector.length);
  const old = new Set<number>();
  if (segment !== undefined && embedder !== undefined && row !== undefined) {
    const exact = (number: number) => vectorAt(file, row.number, number);
    const ranked = rank(segment, { vector: embedder.vector, k, allowed, exact, fusion });
    for (const { number, score } of ranked) top.offer(number, score);
    for (const version of closed) {
      if (allowed?.has(version) !== true) continue;
      const vector = vectorAt(file, row.number, version);
      if (vector.length === 0) continue;
      old.add(version);
      top.offer(version, fusedScore(fusion, version, dotProduct(vector, embedder.vector)));
    }
  }
  // Where every entry has a vector, all are ranked already.
  if (segment?.count === scope.entries && query.at === undefined) return top.sorted();
  for (const number of words.numbers) {
    if (old.has(number) || segment?.slotOf(number) !== undefined) continue;
    if (allowed === undefined || allowed.has(number)) top.offer(number, age(number) * words.get(number));
  }
  return top.sorted();
}

/** Rows of the best, down to the least score, with a bound on each source. More are ranked where the bound leaves too few. */
function chosen(file: MemoryFile, best: (k: number) => Ranked[], query: FileQuery): Found[] {
  const { topK, perSource, minScore } = query;
  for (let k = perSource === undefined ? topK : topK * 4; ; k *= 4) {
    const ranked = best(k);
    const found: Found[] = [];
    const bySource = new Map<string, number>();
    for (const { number, score } of ranked) {
      if (found.length === topK || score < minScore || score <= 0) break;
      const row = versionByNumber(file, number);
      if (row === undefined) continue;
      const before = bySource.get(row.source) ?? 0;
      if (perSource !== undefined && before >= perSource) continue;
      bySource.set(row.source, before + 1);
      // Rounding may carry a perfect match a hair above 1.
      found.push({ row, score: Math.min(1, score) });
    }
    const last = ranked.at(-1);
    const exhausted = ranked.length < k || last === undefined || last.score < minScore || last.score <= 0;
    if (found.length === topK || exhausted) return found;
  }
}

/** What was valid then and is no longer. */
function closedAt(file: MemoryFile, namespace: number, at: number): number[] {
  return file.numbers(
    'SELECT json_group_array(number) AS list FROM versions WHERE namespace = ?1 AND valid_to > ?2 AND valid_from <= ?2',
    namespace,
    at,
  );
}

/** The versions that a query may see; undefined where that is every current one of the namespace. */
function allowedBy(
  file: MemoryFile,
  { lexical, begins }: Legs,
  namespace: number,
  { where, kind, at }: FileQuery,
  closed: readonly number[],
): Allowed | undefined {
  const facets = Object.entries(where).map(([key, value]): [string, string] => [`.${key}`, canonical(value)]);
  if (kind !== undefined) facets.push(['@kind', canonical(kind)]);
  const lists = facets.map(([key, value]) =>
    file.numbers(
      'SELECT json_group_array(version) AS list FROM facets WHERE namespace = ? AND key = ? AND value = ?',
      namespace,
      key,
      value,
    ),
  );
  if (at !== undefined) {
    const times = begins.read(file);
    const current = [...lexical.postings.current(file, namespace)];
    lists.push([...current.filter((number) => (times[number] ?? 0) <= at), ...closed]);
  }
  if (lists.length === 0) return undefined;
  // How many of the lists have a number: those that all have are allowed.
  const last = file.get<{ last: number | null }>('SELECT max(number) AS last FROM versions')?.last ?? 0;
  const found = new Uint16Array(last + 1);
  const [first = [], ...more] = lists.sort((a, b) => a.length - b.length);
  for (const number of first) found[number] = 1;
  more.forEach((list, index) => {
    for (const number of list) if (found[number] === index + 1) found[number] = index + 2;
  });
  const numbers = first.filter((number) => found[number] === lists.length);
  return { numbers, has: (number) => found[number] === lists.length };
}

function ageFactor({ recency, at, now }: FileQuery, begins: Float64Array | undefined): (number: number) => number {
  if (recency === undefined || begins === undefined) return () => 1;
  return (number) => {
    const age = Math.max(0, (at ?? now) - (begins[number] ?? now));
    return 1 - recency.weight * (1 - 2 ** (-age / recency.halfLifeMs));
  };
}

function segmentRow(file: MemoryFile, namespace: number, { id, vector }: { id: string; vector: Float32Array }) {
  return file.get<{ number: number }>(
    'SELECT number FROM segments WHERE namespace = ? AND embedder = ? AND dimensions = ?',
    namespace,
    id,
    vector.length,
  );
}

function vectorAt(file: MemoryFile, segment: number, version: number): Float32Array {
  const row = file.get<{ data: Uint8Array }>(
    'SELECT data FROM vectors WHERE segment = ? AND version = ?',
    segment,
    version,
  );
  return row === undefined ? new Float32Array(0) : floatsOf(row.data);
}

/**
 * Gives each entry a share of the scores of the entries before and after it from the same source. `numbers` are the current
 * entries in the order in which they were added, `sources` the sources' numbers by entry.
 */
export function addNeighbourScores(words: WordScores, numbers: Uint32Array, sources: Uint32Array, share: number): void {
  const { sums } = words;
  /** By source: the last entry, and what the one before it had. */
  const last = new Map<number, { number: number; own: number; before: number }>();
  const gain = (number: number, beside: number) => {
    if (beside > 0) words.add(number, share * beside);
  };
  for (const number of numbers) {
    const source = sources[number] ?? 0;
    // Not raised yet: what an entry gains is a share of its neighbours' own scores.
    const own = sums[number] ?? 0;
    const one = last.get(source);
    if (one === undefined) last.set(source, { number, own, before: 0 });
    else {
      gain(one.number, one.before + own);
      one.before = one.own;
      one.number = number;
      one.own = own;
    }
  }
  for (const { number, before } of last.values()) gain(number, before);
}
