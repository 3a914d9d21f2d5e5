import { lstat } from 'node:fs/promises';
import { type Glob, matchGlob, readGlob } from '../../security/match-glob.ts';
import type { Folder } from './folder.ts';
import { entriesOf } from './list-files.ts';
import type { Workspace } from './workspace.ts';
import type { WorkspacePath } from './workspace-path.ts';

/** The most levels of a walk: each needs a descriptor. */
const MAX_DEPTH = 40;
/** Of installed packages there are more than of everything else; who wants them names them. */
const SKIPPED_FOLDER = 'node_modules';

/** What a walk did not look at. */
export interface Passed {
  /** Folders below the deepest level. */
  deeper: number;
  readonly passedOver: Set<string>;
}

/** A glob and its parts. */
interface Wanted {
  readonly glob: Glob;
  readonly parts: readonly Glob[];
  readonly namesPackages: boolean;
}

/** The folder that contains all matches of a glob, and the rest of the glob. A path without `*` is a file, or a folder with all below it. */
export async function wantedFiles(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ start: readonly string[]; wanted: Wanted }> {
  const { names } = path;
  const star = names.findIndex((name) => name.includes('*'));
  if (star !== -1) return { start: names.slice(0, star), wanted: readWanted(names) };
  if (names.length === 0) return { start: [], wanted: readWanted(['**']) };
  const parent = { ...path, names: names.slice(0, -1) };
  const isFolder = await workspace.inFolder(parent, async (folder) => {
    workspace.refuseProtected(names, path.given);
    // Opening it shows whether it is a folder, and refuses a link.
    return path.isFolder || !(await lstat(folder.at(names.at(-1) as string))).isFile();
  });
  return isFolder
    ? { start: names, wanted: readWanted([...names, '**']) }
    : { start: parent.names, wanted: readWanted(names) };
}

function readWanted(names: readonly string[]): Wanted {
  const glob = readGlob(names.join('/'));
  return { glob, parts: names.map((name) => readGlob(name)), namesPackages: names.includes(SKIPPED_FOLDER) };
}

interface Level {
  readonly folder: Folder;
  readonly names: readonly string[];
  readonly entries: Iterator<{ name: string; isDirectory(): boolean; isFile(): boolean }>;
}

/** The files below an open folder, in the order of their names, each with its open folder. Links are not followed. */
export async function* filesBelow(
  workspace: Workspace,
  start: Folder,
  above: readonly string[],
  wanted: Wanted,
  passed: Passed,
): AsyncGenerator<{ folder: Folder; names: readonly string[] }> {
  const levels: Level[] = [];
  const open = async (folder: Folder, names: readonly string[]) => {
    levels.push({ folder, names, entries: (await entriesOf(workspace, folder, names))[Symbol.iterator]() });
  };
  await open(start, above);
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const next = level.entries.next();
      if (next.done === true) {
        levels.pop();
        if (level.folder !== start) await level.folder.close();
        continue;
      }
      const entry = next.value;
      const names = [...level.names, entry.name];
      if (entry.isFile() && matchGlob(wanted.glob, names.join('/'))) yield { folder: level.folder, names };
      if (!entry.isDirectory() || !mayContain(wanted, names)) continue;
      if (entry.name === SKIPPED_FOLDER && !wanted.namesPackages) passed.passedOver.add(SKIPPED_FOLDER);
      else if (levels.length > MAX_DEPTH) passed.deeper += 1;
      else {
        // It may have gone, or be a link by now: then it is none of the folders below.
        const folder = await level.folder.enter(entry.name).catch(() => undefined);
        if (folder !== undefined) await open(folder, names);
      }
    }
  } finally {
    for (const { folder } of levels) if (folder !== start) await folder.close();
  }
}

/** Whether files below a folder can match. */
function mayContain({ parts }: Wanted, names: readonly string[]): boolean {
  for (const [index, name] of names.entries()) {
    const part = parts[index];
    if (part === undefined) return false;
    if (part.text.includes('**')) return true;
    if (!matchGlob(part, name)) return false;
  }
  return parts.length > names.length;
}
