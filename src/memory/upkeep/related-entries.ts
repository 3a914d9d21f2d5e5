import { setImmediate } from 'node:timers/promises';
import type { MemoryVersion } from '../file/versions.ts';
import type { LongTermMemory } from '../long-term-memory-type.ts';

/** How many of the most similar are looked at for each entry, and from which score on: a word in common is not enough. */
const NEAREST = 6;
const LEAST = 0.2;
/** Others have their turn after so many searches. */
const AT_ONCE = 16;

/** Two items that are about the same, and how much. */
export interface Pair {
  readonly a: string;
  readonly b: string;
  readonly score: number;
}

/** Which entries are about the same, by the store's own search. */
export async function relatedEntries(
  store: LongTermMemory,
  namespace: string,
  entries: readonly MemoryVersion[],
  signal: AbortSignal,
): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (const [index, { id, text }] of entries.entries()) {
    if (index % AT_ONCE === 0) await setImmediate();
    const hits = await store.search(text, { namespace, topK: NEAREST, minScore: LEAST }, signal);
    for (const hit of hits) if (hit.id !== id) pairs.push({ a: id, b: hit.id, score: hit.score });
  }
  return pairs;
}

/**
 * Batches of at most `size`, in which related items are together as far as they fit, the most similar first; unrelated items come last. Each item is in one batch; within a batch they keep their order.
 */
export function packed<Item extends { readonly id: string }>(
  items: readonly Item[],
  pairs: readonly Pair[],
  size: number,
): Item[][] {
  const clusters = new Map(items.map((item) => [item.id, [item.id]]));
  for (const { a, b } of pairs.toSorted((one, other) => other.score - one.score)) {
    const [first, second] = [clusters.get(a), clusters.get(b)];
    if (first === undefined || second === undefined || first === second) continue;
    if (first.length + second.length > size) continue;
    first.push(...second);
    for (const id of second) clusters.set(id, first);
  }
  const batches: string[][] = [];
  // The first that has room for a whole cluster takes it: those with company first, then those alone.
  const distinct = [...new Set(clusters.values())];
  for (const cluster of distinct.sort((a, b) => Number(b.length > 1) - Number(a.length > 1))) {
    const batch = batches.find(({ length }) => length + cluster.length <= size);
    if (batch === undefined) batches.push([...cluster]);
    else batch.push(...cluster);
  }
  return batches.map((batch) => {
    const ids = new Set(batch);
    return items.filter(({ id }) => ids.has(id));
  });
}
