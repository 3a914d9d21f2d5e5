/** The parts of a rotated file, the oldest first: `<file>.2`, `<file>.1`, the file. */
export function logParts(file: string): readonly string[] {
  const { statSync } = process.getBuiltinModule('node:fs');
  const parts = [file];
  for (let number = 1; statSync(`${file}.${number}`, { throwIfNoEntry: false })?.isFile(); number += 1)
    parts.unshift(`${file}.${number}`);
  return parts;
}
