import { type Glob, matchGlob, readGlob } from '../../security/match-glob.ts';
import { fold } from '../../security/rule-value.ts';
import { TEMPORARY } from './replace-file.ts';

/** Version control executes files of its folder, `coxswain.json` contains permissions, `.runs` the step logs and journals of runs. */
const PROTECTED: ReadonlySet<string> = new Set([
  ...['.git', '.hg', '.svn', '.jj', '.bzr'],
  ...['.coxswain', 'coxswain.json', '.runs'],
]);

/** Whether an entry is protected, by its last name; callers check each folder on the path to it. */
export type IsProtected = (names: readonly string[]) => boolean;

/** Names in any letter case, and the user's globs, which look at the path from the root. */
export function protectedNames(globs: readonly string[]): IsProtected {
  const more: readonly Glob[] = globs.map((glob) => readGlob(fold(glob)));
  return (names) => {
    const last = names.at(-1);
    if (last === undefined) return false;
    const name = fold(last);
    // Lists leave out what is being written; nothing else may have such a name.
    if (PROTECTED.has(name) || name.startsWith(TEMPORARY)) return true;
    if (more.length === 0) return false;
    const path = fold(names.join('/'));
    return more.some((glob) => matchGlob(glob, path) || matchGlob(glob, `${path}/`));
  };
}
