import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { ConfigurationError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';

/** Folders in which programs are looked for: absolute ones, none of them in the workspace, where an agent could plant one. */
export function searchPath(path: string | undefined, root: string): readonly string[] {
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isWithin(realOf(folder) ?? folder, root));
}

/**
 * The program of a preset, found once, at the start.
 *
 * @throws ConfigurationError where there is none, or where it lies in the workspace.
 */
export function findProgram(file: string, folders: readonly string[], root: string, field: string): string {
  const isName = !/[\\/]/.test(file);
  if (!isName && !isAbsolute(file))
    throw new ConfigurationError(field, `${shown(file)} is a relative path`, 'Write a name or an absolute path.');
  const extensions = process.platform === 'win32' && !/\.exe$/i.test(file) ? ['.exe'] : [''];
  const candidates = isName
    ? folders.flatMap((folder) => extensions.map((extension) => join(folder, file + extension)))
    : [file];
  const found = candidates.find(isProgram);
  if (found === undefined)
    throw new ConfigurationError(
      field,
      `there is no program ${shown(file)}`,
      'Install it, or write its absolute path.',
    );
  if (isWithin(realOf(found) ?? found, root))
    throw new ConfigurationError(
      field,
      `${shown(file)} lies in the workspace, where the agent could replace it`,
      'Name a program outside.',
    );
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
