import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of a package that is installed above this file: in the project, or in the folder it was copied to. */
export function versionOf(name: string): string {
  for (let folder = import.meta.dirname; ; folder = join(folder, '..')) {
    try {
      return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
    } catch {
      if (folder === join(folder, '..')) return 'unknown';
    }
  }
}
