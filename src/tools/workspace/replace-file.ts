import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import type { Folder } from './folder.ts';

/** What all temporary files of ours begin with; such names are protected. */
export const TEMPORARY = '.coxswain-tmp-';

/**
 * Replaces a file as a whole: writes a new file beside it, then renames it, both in the open folder. So readers see the old file or
 * the new one, and a link that was put there meanwhile is replaced, not followed.
 *
 * @param mode permission bits; those of special meaning (setuid and the like) are dropped.
 * @param confirm is called right before the rename; if it rejects, nothing has changed.
 */
export async function replaceFile(
  folder: Folder,
  name: string,
  bytes: Uint8Array,
  mode: number,
  confirm: () => Promise<void>,
): Promise<void> {
  const temporary = folder.at(`${TEMPORARY}${randomBytes(9).toString('hex')}`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants;
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode & 0o777);
  try {
    try {
      await handle.writeFile(bytes);
      // The mode that `open` gives is narrowed by the process's mask; the file's own is kept as it was.
      if (mode !== NEW_FILE) await handle.chmod(mode & 0o777);
    } finally {
      await handle.close();
    }
    await confirm();
    await rename(temporary, folder.at(name));
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}

/** Of a file that was not there: what the process's mask leaves of it. */
export const NEW_FILE = 0o666;
