import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './refusal.ts';

/** An open folder of the workspace. What is in it is reached by one name at a time, never by a path. */
export interface Folder {
  /** Where the system finds an entry of this very folder, whatever its path leads to by now. For calls that follow no link. */
  at(name: string): string;
  /** The folder's own address, for listing it. */
  readonly address: string;
  /** Opens a folder in it. Rejects with the system's error: ELOOP for a link, ENOTDIR for what is no folder. */
  enter(name: string): Promise<Folder>;
  close(): Promise<void>;
}

/** How folders are accessed: by descriptors (Linux), or by paths, which a swap between two calls can exploit. */
export type FolderAccess = 'descriptors' | 'paths';

/** The best access of this system. */
export function bestAccess(): FolderAccess {
  return process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'paths';
}

/** Opens the root, which may itself be reached through links: it is the user's own choice. */
export async function openRoot(path: string, access: FolderAccess): Promise<Folder> {
  if (access === 'paths') return new PathFolder(path);
  return new DescriptorFolder(await open(path, constants.O_RDONLY | constants.O_DIRECTORY));
}

/**
 * Linux: `/proc/self/fd/N/name` starts at the folder that descriptor N holds, as `openat` would, which Node does not have.
 * With O_NOFOLLOW no part of the path can be a link.
 */
class DescriptorFolder implements Folder {
  readonly address: string;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
    this.address = `/proc/self/fd/${handle.fd}`;
  }

  at(name: string): string {
    return `${this.address}/${name}`;
  }

  async enter(name: string): Promise<Folder> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    try {
      return new DescriptorFolder(await open(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    } catch (thrown) {
      // Linux reports ENOTDIR for a link too; the entry is examined only for a better message.
      if (codeOf(thrown) === 'ENOTDIR' && (await isLink(this.at(name))))
        throw Object.assign(new Error('a link'), { code: 'ELOOP' });
      throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Elsewhere: each folder is looked at before it is entered. Weaker: it may be swapped right after. */
class PathFolder implements Folder {
  readonly address: string;

  constructor(path: string) {
    this.address = path;
  }

  at(name: string): string {
    return join(this.address, name);
  }

  async enter(name: string): Promise<Folder> {
    const path = this.at(name);
    const facts = await lstat(path);
    if (facts.isSymbolicLink()) throw Object.assign(new Error('a link'), { code: 'ELOOP' });
    if (!facts.isDirectory()) throw Object.assign(new Error('no folder'), { code: 'ENOTDIR' });
    // A junction or a mount that leads elsewhere is no link for `lstat`.
    if ((await realpath(path)) !== join(await realpath(this.address), name))
      throw Object.assign(new Error('leads elsewhere'), { code: 'ELOOP' });
    return new PathFolder(path);
  }

  async close(): Promise<void> {}
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() ?? false;
}
