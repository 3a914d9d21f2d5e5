import { closeSync, constants, lstatSync, openSync } from 'node:fs';

/**
 * Makes an empty file that its owner alone may read and write, where there is none: whoever opens it next does not make one that
 * others may read. What is there stays as it is. False where it, or a file that SQLite puts beside it, is a link.
 */
export function privateFile(file: string): boolean {
  if (file === ':memory:') return true;
  for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`])
    if (lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink()) return false;
  try {
    const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW = 0 } = constants;
    closeSync(openSync(file, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0o600));
  } catch {
    // It is there, or cannot be made: whoever opens it says so.
  }
  return true;
}
