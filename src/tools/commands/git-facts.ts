import { spawnSync } from 'node:child_process';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { commandEnv } from './command-arguments.ts';
import { type GitFacts, gitFacts, LIST_SETTINGS, NO_FACTS } from './git-settings.ts';
import { type ProcessPlan, runProcess } from './run-process.ts';
import type { OpenSandbox } from './sandbox.ts';

const MAX_CHARS = 1_000_000;
const MAX_NAMES = 1_000;

/**
 * Refuses a git that does not know the settings and variables on which presets rely (2.38, of 2022).
 *
 * @throws ConfigurationError
 */
export function checkGitVersion(field: string, program: string): void {
  const { stdout } = spawnSync(program, ['version'], { encoding: 'utf8', timeout: 5_000 });
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 38)) return;
  throw new ConfigurationError(
    `${field}.file`,
    `git ${major}.${minor} may start programs that a repository names`,
    'Install git 2.38 or newer, or write unsafe: true if nobody else writes to the repository.',
  );
}

/**
 * What is known of the repository that git is about to be started in: the settings that are overridden have names that the
 * repository chooses.
 *
 * @throws ToolError where its settings cannot be read or overridden.
 */
export async function readGitFacts(
  program: string,
  sandbox: OpenSandbox,
  env: Omit<Parameters<typeof commandEnv>[0], 'git'>,
  plan: Pick<ProcessPlan, 'cwd' | 'timeoutMs' | 'signal'>,
): Promise<GitFacts> {
  const { exitCode, stdout, stderr, stoppedBy } = await runProcess({
    ...plan,
    ...sandbox.wrap(program, LIST_SETTINGS),
    env: commandEnv({ ...env, git: NO_FACTS }),
    maxOutputChars: MAX_CHARS,
  });
  if (stoppedBy === 'abort') throw plan.signal.reason;
  const refuse = (problem: string): never => {
    throw new ToolError('threw', `the settings of the repository ${problem}, so git is not started.`);
  };
  if (exitCode !== 0 || stoppedBy !== undefined) refuse(`cannot be read (${stderr.trim().slice(0, 300)})`);
  const facts = gitFacts(stdout);
  if (facts.names.length > MAX_NAMES) refuse(`name more than ${MAX_NAMES} programs`);
  // Neither a variable nor this text can hold the bytes of such a name.
  if (facts.names.some((name) => name.includes('\uFFFD'))) refuse('have a name that is no UTF-8');
  return facts;
}
