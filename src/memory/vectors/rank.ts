import { dotProduct } from './cosine-similarity.ts';
import type { Segment } from './segment.ts';
import { TopK } from './top-k.ts';

export interface Ranked {
  readonly number: number;
  readonly score: number;
}

/** A number's score: `age(number) × (weight × max(0, cosine) + scale × words[number])`. */
export interface Fusion {
  readonly weight: number;
  /** By number; 0 where there is none. */
  readonly words: Float64Array;
  readonly scale: number;
  /** 0 … 1. */
  readonly age: (number: number) => number;
}

export interface RankQuery {
  readonly vector: Float32Array;
  readonly k: number;
  /** Only these numbers; all where there is none. Applied before anything is scored or counted. */
  readonly allowed?: { readonly numbers: readonly number[]; has(number: number): boolean } | undefined;
  /** Returns the exact unit vector of a number; called only if the segment has approximations. */
  readonly exact: (number: number) => Float32Array;
  /** Without one a number's score is its cosine. */
  readonly fusion?: Fusion | undefined;
}

/** A filter that leaves less than this share is followed row by row; else all rows are scanned, and it chooses among the scores. */
const NARROW = 0.05;

/**
 * The K best of a segment, exactly. Approximate scores have an error bound: every row that may belong to the K best within it is
 * scored again with its exact vector, so that the result equals that of an exact scan.
 */
export function rank(segment: Segment, query: RankQuery): Ranked[] {
  const { allowed, vector } = query;
  const best = segment.precision === 'f32' ? new Exact(query) : new Rescored(segment, query);
  if (allowed !== undefined && allowed.numbers.length < segment.count * NARROW) {
    const slots = allowed.numbers.flatMap((number) => segment.slotOf(number) ?? []);
    const scores = segment.score(vector, slots);
    for (const slot of slots) best.offer(slot, segment.numbers[slot] as number, scores[slot] as number);
  } else offerAll(segment, segment.score(vector), query, best);
  return best.sorted();
}

/** Most rows are passed over by one comparison: they score too little, whatever their cosine is off by and however young they are. */
function offerAll(segment: Segment, scores: Float32Array, { allowed, fusion }: RankQuery, best: Best): void {
  const { numbers, worstError } = segment;
  const { words = NO_WORDS, scale = 0, weight = 1 } = fusion ?? {};
  // A cosine below 0 counts as 0, where it is not the score itself.
  const floor = fusion === undefined ? Number.NEGATIVE_INFINITY : 0;
  let { threshold } = best;
  for (let slot = 0; slot < numbers.length; slot++) {
    const cosine = scores[slot] as number;
    const number = numbers[slot] as number;
    const most = weight * Math.max(floor, cosine + worstError) + scale * (words[number] ?? 0);
    if (most < threshold || (allowed !== undefined && !allowed.has(number))) continue;
    best.offer(slot, number, cosine);
    threshold = best.threshold;
  }
}

const NO_WORDS = new Float64Array(0);

interface Best {
  /** What scores less is not among the best. */
  readonly threshold: number;
  offer(slot: number, number: number, cosine: number): void;
  sorted(): Ranked[];
}

class Exact implements Best {
  readonly #fusion: Fusion | undefined;
  readonly #top: TopK;

  constructor({ k, fusion }: RankQuery) {
    this.#fusion = fusion;
    this.#top = new TopK(k);
  }

  get threshold(): number {
    return this.#top.threshold;
  }

  offer(_: number, number: number, cosine: number): void {
    this.#top.offer(number, scoreOf(this.#fusion, number, cosine));
  }

  sorted(): Ranked[] {
    return this.#top.sorted();
  }
}

/** What is below the threshold of a moment is below the last one, which only rises. */
class Rescored implements Best {
  readonly #segment: Segment;
  readonly #query: RankQuery;
  /** By the least that each may score. */
  readonly #lowest: TopK;
  readonly #possible: { readonly number: number; readonly most: number }[] = [];

  constructor(segment: Segment, query: RankQuery) {
    this.#segment = segment;
    this.#query = query;
    this.#lowest = new TopK(query.k);
  }

  get threshold(): number {
    return this.#lowest.threshold;
  }

  offer(slot: number, number: number, cosine: number): void {
    const { fusion } = this.#query;
    const error = this.#segment.error(slot);
    const most = scoreOf(fusion, number, cosine + error);
    if (most < this.#lowest.threshold) return;
    this.#lowest.offer(number, scoreOf(fusion, number, cosine - error));
    this.#possible.push({ number, most });
  }

  sorted(): Ranked[] {
    const { k, vector, exact, fusion } = this.#query;
    const { threshold } = this.#lowest;
    const top = new TopK(k);
    for (const { number, most } of this.#possible) {
      if (most >= threshold) top.offer(number, scoreOf(fusion, number, dotProduct(exact(number), vector)));
    }
    return top.sorted();
  }
}

function scoreOf(fusion: Fusion | undefined, number: number, cosine: number): number {
  return fusion === undefined ? cosine : fusedScore(fusion, number, cosine);
}

/** It does not fall when the cosine rises. */
export function fusedScore({ weight, words, scale, age }: Fusion, number: number, cosine: number): number {
  return age(number) * (weight * Math.max(0, cosine) + scale * (words[number] ?? 0));
}
