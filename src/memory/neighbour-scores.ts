import type { MemoryFile } from './memory-file.ts';

/** Scores, each with a share of those of the current entries before and after it from the same source. */
export function neighbourScores(
  file: MemoryFile,
  namespace: number,
  scores: ReadonlyMap<number, number>,
  share: number,
): Map<number, number> {
  const order = 'FROM versions WHERE namespace = ? AND valid_to IS NULL';
  const rows = file.all<{ list: string }>(
    `SELECT json_group_array(number ORDER BY number) AS list ${order} GROUP BY source`,
    namespace,
  );
  const spread = new Map(scores);
  for (const { list } of rows) {
    const numbers = JSON.parse(list) as number[];
    for (let index = 0; index < numbers.length; index++) {
      const score = scores.get(numbers[index] as number);
      if (score === undefined) continue;
      for (const beside of [numbers[index - 1], numbers[index + 1]]) {
        if (beside !== undefined) spread.set(beside, (spread.get(beside) ?? 0) + share * score);
      }
    }
  }
  return spread;
}
