/** How many of `topK` hits one source may have while other sources have matching entries. */
export function perSource(topK: number): number {
  return Math.ceil(topK / 2);
}

/**
 * The best hits, at most half of them from one source while other sources match: a poisoned source could otherwise fill an
 * answer. Remaining slots are filled with the best of the rest.
 */
export function manySources<Hit extends { readonly source: string; readonly score: number }>(
  hits: readonly Hit[],
  topK: number,
): Hit[] {
  const sorted = hits.toSorted((a, b) => b.score - a.score);
  const bySource = new Map<string, number>();
  const within: Hit[] = [];
  const over: Hit[] = [];
  for (const hit of sorted) {
    const before = bySource.get(hit.source) ?? 0;
    bySource.set(hit.source, before + 1);
    (before < perSource(topK) ? within : over).push(hit);
  }
  const best = within.slice(0, topK);
  return [...best, ...over.slice(0, topK - best.length)].sort((a, b) => b.score - a.score);
}

/**
 * The most that each of these lengths may have so that all fit into `room`: what is shorter leaves its rest to the longer ones.
 *
 * @example fairShare([10, 500, 900], 610) // 300
 */
export function fairShare(lengths: readonly number[], room: number): number {
  let remaining = room;
  const sorted = lengths.toSorted((a, b) => a - b);
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(remaining / (sorted.length - index));
    if (length > share) return share;
    remaining -= length;
  }
  return Math.max(room, 0);
}
