import type { MemoryFile } from './memory-file.ts';
import type { WordScores } from './word-scores.ts';

/** Gives each entry a share of the scores of the current entries before and after it from the same source. */
export function addNeighbourScores(file: MemoryFile, namespace: number, words: WordScores, share: number): void {
  const rows = file.all<{ list: string }>(
    `SELECT json_group_array(number ORDER BY number) AS list FROM versions
     WHERE namespace = ? AND valid_to IS NULL GROUP BY source`,
    namespace,
  );
  for (const { list } of rows) {
    const numbers = JSON.parse(list) as number[];
    const own = numbers.map((number) => words.sums[number] ?? 0);
    numbers.forEach((number, index) => {
      const beside = (own[index - 1] ?? 0) + (own[index + 1] ?? 0);
      if (beside > 0) words.add(number, share * beside);
    });
  }
}
