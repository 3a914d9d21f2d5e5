import { homedir } from 'node:os';
import { join } from 'node:path';
import type { RunPermissions } from '../core/contract/permission.ts';
import type { Environment } from '../models/from-env.ts';

const NAME = 'coxswain.json';

/** The permissions of a module, with the files of the project (the current folder) and of the user, unless the module names its own files. */
export function ownPermissions(given: RunPermissions | undefined, env: Environment = process.env): RunPermissions {
  const config = env.XDG_CONFIG_HOME?.trim() || join(homedir(), '.config');
  return { ...given, files: given?.files ?? { project: NAME, user: join(config, 'coxswain', NAME) } };
}
