import type { MemoryFile } from '../file/memory-file.ts';
import { mayBeReworded } from '../file/near-text.ts';
import { queryTerms } from '../file/terms.ts';
import type { Memory, VersionRow } from '../file/versions.ts';
import { mayMerge } from '../file/write-entry.ts';
import type { MemoryHandle } from '../search/memory-handle.ts';
import { searchFile } from '../search/search-file.ts';
import { dotProduct, floatsOf } from '../vectors/cosine-similarity.ts';

/** From this cosine on two texts count as equal, if their words allow it. */
const SAME = 0.95;
/** Longer texts are not looked up: they are no facts. In characters. */
const LONGEST = 500;
const CANDIDATES = 5;

/**
 * The current entry with the meaning of a memory in other words: both words and vectors must agree, since one alone would lose facts: vectors of "the budget is 50" and "the budget is 60" are as alike. Undefined without a vector; within a snapshot.
 */
export function rewordedOf(
  file: MemoryFile,
  handle: MemoryHandle,
  memory: Memory,
  vector: Float32Array | undefined,
): VersionRow | undefined {
  const { embedder } = handle;
  if (vector === undefined || embedder === undefined || memory.text.length > LONGEST) return undefined;
  const found = searchFile(file, handle, {
    ...{ namespace: memory.namespace, terms: queryTerms(memory.text), embedder: undefined },
    ...{ topK: CANDIDATES, minScore: 0, where: {}, kind: undefined, at: undefined },
    ...{ perSource: undefined, neighbours: 0, recency: undefined, now: 0 },
  });
  return found
    .map(({ row }) => row)
    .find((row) => {
      if (!mayBeReworded(row.text, memory.text) || !mayMerge(row, memory)) return false;
      const there = file.get<{ data: Uint8Array }>(
        `SELECT v.data FROM vectors v JOIN segments s ON s.number = v.segment
         WHERE v.version = ? AND s.embedder = ? AND s.dimensions = ?`,
        row.number,
        embedder.id,
        embedder.dimensions,
      );
      return there !== undefined && dotProduct(floatsOf(there.data), vector) >= SAME;
    });
}
