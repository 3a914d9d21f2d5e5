import { dotProduct } from '../cosine-similarity.ts';
import type { Segment } from './segment.ts';
import { TopK } from './top-k.ts';

export interface Ranked {
  readonly number: number;
  readonly score: number;
}

export interface RankQuery {
  readonly vector: Float32Array;
  readonly k: number;
  /** Only these numbers; all where there is none. Applied before anything is scored or counted. */
  readonly allowed?: { readonly numbers: readonly number[]; has(number: number): boolean } | undefined;
  /** Gives the exact unit vector of a number: asked only where the segment holds approximations. */
  readonly exact: (number: number) => Float32Array;
  /** A number's final score; it must not fall when the cosine rises. */
  readonly fuse?: ((number: number, cosine: number) => number) | undefined;
}

/** A filter that leaves less than this share is followed row by row; else all rows are scanned, and it chooses among the scores. */
const NARROW = 0.05;

/**
 * The K best of a segment, exactly. Approximate scores come with a bound: whoever may belong to the K best by it is scored
 * again with the exact vector, so that the result is that of an exact scan.
 */
export function rank(segment: Segment, query: RankQuery): Ranked[] {
  const { allowed } = query;
  const narrow = allowed !== undefined && allowed.numbers.length < segment.count * NARROW;
  const slots = narrow ? allowed.numbers.flatMap((number) => segment.slotOf(number) ?? []) : undefined;
  const scores = segment.score(query.vector, slots);
  const visit = visitor(segment, narrow ? undefined : allowed, slots);
  return segment.precision === 'f32' ? best(segment, query, scores, visit) : rescored(segment, query, scores, visit);
}

type Visit = (each: (slot: number, number: number) => void) => void;

function visitor(segment: Segment, allowed: RankQuery['allowed'], slots: readonly number[] | undefined): Visit {
  const { numbers } = segment;
  return (each) => {
    if (slots !== undefined) for (const slot of slots) each(slot, numbers[slot] as number);
    else {
      for (let slot = 0; slot < numbers.length; slot++) {
        const number = numbers[slot] as number;
        if (allowed === undefined || allowed.has(number)) each(slot, number);
      }
    }
  };
}

function best(segment: Segment, { k, fuse, allowed }: RankQuery, scores: Float32Array, visit: Visit): Ranked[] {
  const top = new TopK(k);
  if (fuse === undefined && allowed === undefined) {
    // The commonest scan, without a call a row.
    const { numbers } = segment;
    let threshold = top.threshold;
    for (let slot = 0; slot < numbers.length; slot++) {
      const score = scores[slot] as number;
      if (score < threshold) continue;
      top.offer(numbers[slot] as number, score);
      threshold = top.threshold;
    }
    return top.sorted();
  }
  visit((slot, number) => {
    const cosine = scores[slot] as number;
    top.offer(number, fuse === undefined ? cosine : fuse(number, cosine));
  });
  return top.sorted();
}

function rescored(segment: Segment, query: RankQuery, scores: Float32Array, visit: Visit): Ranked[] {
  const fuse = query.fuse ?? ((_: number, cosine: number) => cosine);
  const lowest = new TopK(query.k);
  const possible: number[] = [];
  const upper: number[] = [];
  // What is below the threshold of that moment is below the last one, which only rises.
  visit((slot, number) => {
    const error = segment.error(slot);
    const cosine = scores[slot] as number;
    const most = fuse(number, cosine + error);
    if (most < lowest.threshold) return;
    lowest.offer(number, fuse(number, cosine - error));
    possible.push(number);
    upper.push(most);
  });
  const top = new TopK(query.k);
  const { threshold } = lowest;
  for (let index = 0; index < possible.length; index++) {
    if ((upper[index] as number) < threshold) continue;
    const number = possible[index] as number;
    top.offer(number, fuse(number, dotProduct(query.exact(number), query.vector)));
  }
  return top.sorted();
}
