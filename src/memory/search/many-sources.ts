/** How many of so many hits one source may give while others have something that fits. */
export function perSource(topK: number): number {
  return Math.ceil(topK / 2);
}

/**
 * The best hits, none of whose sources gives more than half while others have something that fits: a poisoned one could else
 * fill an answer. What the others leave is filled with the best of the rest.
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
  const kept = within.slice(0, topK);
  return [...kept, ...over.slice(0, topK - kept.length)].sort((a, b) => b.score - a.score);
}
