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
