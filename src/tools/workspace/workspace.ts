import { type BigIntStats, constants, realpathSync, statSync } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';
import { bestAccess, type Folder, type FolderAccess, openRoot } from './folder.ts';
import { type IsProtected, protectedNames } from './protected-names.ts';
import { codeOf, pathRefusal, systemRefusal } from './refusal.ts';
import type { WorkspacePath } from './workspace-path.ts';

/** A regular file of the workspace, open for reading. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly facts: BigIntStats;
}

/**
 * A folder that no path leads out of. Every part of a path is opened separately, in the folder that was opened before it; links,
 * devices and the like are refused everywhere.
 */
export class Workspace {
  readonly root: string;
  readonly access: FolderAccess;
  readonly isProtected: IsProtected;
  readonly #allowHardLinks: boolean;
  readonly #identity: { readonly dev: bigint; readonly ino: bigint };

  /** @throws ConfigurationError if the root is no folder, or the root of the file system. */
  constructor(options: {
    readonly root: string;
    readonly field: string;
    readonly hardLinks?: 'refuse' | 'allow' | undefined;
    readonly protect?: readonly string[] | undefined;
    readonly access?: FolderAccess | undefined;
  }) {
    const { path, facts } = readRoot(options.root, `${options.field}.root`);
    this.root = path;
    this.#identity = facts;
    this.access = options.access ?? bestAccess();
    this.isProtected = protectedNames(options.protect ?? []);
    this.#allowHardLinks = options.hardLinks === 'allow';
  }

  /** Opens the folder at a path for as long as the work takes. */
  inFolder<T>(path: WorkspacePath, work: (folder: Folder) => Promise<T>): Promise<T> {
    return this.#walk(path, path.names, work);
  }

  /** Opens the folder that contains the last name of a path. The name itself is checked, and not yet opened. */
  inParent<T>(path: WorkspacePath, work: (folder: Folder, name: string) => Promise<T>): Promise<T> {
    const name = path.names.at(-1);
    if (name === undefined)
      throw pathRefusal('path_invalid', path.given, 'is the workspace itself. Name a file in it.');
    if (path.isFolder) throw pathRefusal('path_invalid', path.given, "ends in '/', so it is a folder. Name a file.");
    return this.#walk(path, path.names.slice(0, -1), (folder) => {
      this.refuseProtected(path.names, path.given);
      return work(folder, name);
    });
  }

  async #walk<T>(path: WorkspacePath, names: readonly string[], work: (folder: Folder) => Promise<T>): Promise<T> {
    let folder = await this.#openRoot();
    try {
      for (let depth = 1; depth <= names.length; depth += 1) {
        this.refuseProtected(names.slice(0, depth), path.given);
        const next = await folder.enter(names[depth - 1] as string).catch((thrown: unknown) => {
          throw codeOf(thrown) === 'ENOENT' ? noFolder(names.slice(0, depth), path.given) : thrown;
        });
        await folder.close();
        folder = next;
      }
      return await work(folder);
    } catch (thrown) {
      throw systemRefusal(thrown, path.given);
    } finally {
      await folder.close();
    }
  }

  async #openRoot(): Promise<Folder> {
    const folder = await openRoot(this.root, this.access).catch((thrown: unknown) => {
      throw new ToolError('threw', `the workspace cannot be opened (${codeOf(thrown) ?? 'unknown'})`);
    });
    const { dev, ino } = await stat(folder.address, { bigint: true });
    if (dev === this.#identity.dev && ino === this.#identity.ino) return folder;
    await folder.close();
    throw new ToolError('denied', 'the workspace was replaced by another folder since the start', {
      code: 'path_outside',
    });
  }

  /** Refuses a path that file tools would refuse, to a file or a folder. */
  async look(path: WorkspacePath, mustExist: boolean): Promise<void> {
    const name = path.names.at(-1);
    if (name === undefined) return;
    await this.#walk(path, path.names.slice(0, -1), async (folder) => {
      this.refuseProtected(path.names, path.given);
      const facts = await lstat(folder.at(name), { bigint: true }).catch((thrown: unknown) => {
        if (mustExist || codeOf(thrown) !== 'ENOENT') throw thrown;
      });
      if (facts !== undefined && !facts.isDirectory()) this.#refuseKind(facts, path.given);
    });
  }

  /** Opens a regular file for reading. It is looked at before, so that no device is opened, and again when it is open. */
  async openFile(folder: Folder, name: string, given: string): Promise<OpenFile> {
    const before = await lstat(folder.at(name), { bigint: true });
    this.#refuseKind(before, given);
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    const handle = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const facts = await handle.stat({ bigint: true });
      this.#refuseKind(facts, given);
      if (this.access === 'paths' && (facts.ino !== before.ino || facts.dev !== before.dev))
        throw pathRefusal('path_symlink', given, 'was replaced while it was opened.');
      return { handle, facts };
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  }

  #refuseKind(facts: BigIntStats, given: string): void {
    if (facts.isSymbolicLink()) throw pathRefusal('path_symlink', given, 'is a link; links are not followed.');
    if (facts.isDirectory()) throw pathRefusal('path_special_file', given, 'is a folder, not a file.');
    if (!facts.isFile()) throw pathRefusal('path_special_file', given, 'is no regular file.');
    if (facts.nlink > 1n && !this.#allowHardLinks)
      throw pathRefusal('path_hard_link', given, 'has a second name (a hard link), which may stand outside.');
  }

  refuseProtected(names: readonly string[], given: string): void {
    if (this.isProtected(names))
      throw pathRefusal(
        'path_protected',
        given,
        'is protected: version control, settings, or what the workspace excludes.',
      );
  }
}

function noFolder(names: readonly string[], given: string): ToolError {
  return pathRefusal(
    'path_not_found',
    given,
    `does not exist: there is no folder ${JSON.stringify(short(names.join('/'), 120))}.`,
  );
}

function readRoot(given: unknown, field: string): { path: string; facts: { dev: bigint; ino: bigint } } {
  const mend = 'Name an existing folder, such as { root: "site" }.';
  if (typeof given !== 'string' || given === '') throw new ConfigurationError(field, `got ${shown(given)}`, mend);
  let path: string;
  let facts: BigIntStats;
  try {
    path = realpathSync(given);
    facts = statSync(path, { bigint: true });
  } catch (thrown) {
    throw new ConfigurationError(field, `${shown(given)} cannot be opened (${codeOf(thrown) ?? 'unknown'})`, mend);
  }
  if (!facts.isDirectory()) throw new ConfigurationError(field, `${shown(given)} is no folder`, mend);
  if (parse(path).root === path)
    throw new ConfigurationError(field, `${shown(given)} is all of the system`, 'Name a folder of its own.');
  return { path, facts: { dev: facts.dev, ino: facts.ino } };
}
