import { delimiter } from 'node:path';
import { type GitFacts, gitEnv, OWN_OF_GIT } from './git-settings.ts';

/** What a command is given of the process's own variables unless more are named; no key, no token, no option for a runtime. */
const PASSED = [
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'SystemRoot',
  'TEMP',
  'TMP',
  'USERPROFILE',
];

/** The whole environment of a command: nothing else of the process's reaches it. */
export function commandEnv(of: {
  /** Of git: what is known of the repository. */
  readonly git: GitFacts | undefined;
  readonly searchPath: readonly string[];
  readonly passEnv: readonly string[];
  readonly env: { readonly [name: string]: string };
}): { readonly [name: string]: string } {
  const env: Record<string, string> = { PATH: of.searchPath.join(delimiter), TERM: 'dumb' };
  for (const [name, value] of Object.entries(process.env))
    if (value !== undefined && (PASSED.includes(name) || name.startsWith('LC_') || of.passEnv.includes(name)))
      env[name] = value;
  Object.assign(env, of.env);
  if (of.git === undefined) return env;
  const kept = Object.entries(env).filter(([name]) => !OWN_OF_GIT.test(name));
  return { ...Object.fromEntries(kept), ...gitEnv(of.git) };
}
