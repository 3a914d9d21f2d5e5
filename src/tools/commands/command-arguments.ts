import { delimiter } from 'node:path';
import { ToolError } from '../../core/values/errors.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { readPath } from '../workspace/workspace-path.ts';
import type { CommandCall } from './command-schema.ts';
import { type GitFacts, gitEnv, OWN_OF_GIT } from './git-settings.ts';
import type { CommandPreset } from './preset.ts';

/**
 * The arguments of a preset with a call's parameters filled in. Paths are checked as the file tools do: no part may be a link or lead
 * outside. The program opens them later, so only the sandbox protects against a swap in between.
 */
export async function commandArguments(
  workspace: Workspace,
  { args = [] }: CommandPreset,
  params: CommandCall['params'],
): Promise<readonly string[]> {
  const filled: string[] = [];
  for (const arg of args) {
    if (typeof arg === 'string') filled.push(arg);
    else if (params[arg.param] !== undefined) {
      const value = String(params[arg.param]);
      if (arg.type === 'path') await checkPath(workspace, arg.param, value, arg.exists ?? true);
      filled.push((arg.prefix ?? '') + value);
    }
  }
  return filled;
}

async function checkPath(workspace: Workspace, param: string, value: string, mustExist: boolean): Promise<void> {
  try {
    await workspace.look(readPath(value), mustExist);
  } catch (thrown) {
    if (thrown instanceof ToolError && thrown.code === 'path_not_found')
      throw new ToolError('invalid_args', `$.params.${param}: ${thrown.message}`, { code: 'command_bad_argument' });
    throw thrown;
  }
}

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
