import { statSync } from 'node:fs';

/** The parts of a rotated file, the oldest first: `<file>.2`, `<file>.1`, the file. */
export function logParts(file: string): readonly string[] {
  const parts = [file];
  for (let number = 1; statSync(`${file}.${number}`, { throwIfNoEntry: false })?.isFile(); number += 1)
    parts.unshift(`${file}.${number}`);
  return parts;
}
