/**
 * The parts of a rotated file, the oldest first: `<file>.2`, `<file>.1`, the file. They are renamed one after the other, so that
 * a process which dies in between leaves one number out: what is beyond it counts as well.
 */
export function logParts(file: string): readonly string[] {
  const { statSync } = process.getBuiltinModule('node:fs');
  const parts = [file];
  for (let number = 1, missing = 0; missing < 2; number += 1) {
    const part = `${file}.${number}`;
    const isThere = statSync(part, { throwIfNoEntry: false })?.isFile() === true;
    missing = isThere ? 0 : missing + 1;
    if (isThere) parts.unshift(part);
  }
  return parts;
}
