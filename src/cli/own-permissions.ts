import { homedir } from 'node:os';
import { join } from 'node:path';
import type { RunPermissions } from '../core/contract/permission.ts';
import type { Environment } from '../models/from-env.ts';

const NAME = 'coxswain.json';

/** What a module says of its calls, with the files of the project (the folder `cox` is called in) and of the user unless it names its own. */
export function ownPermissions(given: RunPermissions | undefined, env: Environment = process.env): RunPermissions {
  const config = env.XDG_CONFIG_HOME?.trim() || join(homedir(), '.config');
  return { ...given, files: given?.files ?? { project: NAME, user: join(config, 'coxswain', NAME) } };
}
