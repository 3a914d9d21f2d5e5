import { execFileSync } from 'node:child_process';
import type { AttackCase } from './attack-case.ts';

/** What this machine lacks for a case; undefined where it lacks nothing. */
export function lacking({ platform, needs }: AttackCase): string | undefined {
  const isPosix = process.platform !== 'win32';
  if (platform === 'linux' && process.platform !== 'linux') return 'it is no Linux';
  if (platform === 'posix' && !isPosix) return 'it is no POSIX system';
  const missing = needs.filter((need) => !has(need));
  return missing.length === 0 ? undefined : `it has no ${missing.join(', ')}`;
}

const known = new Map<string, boolean>();

function has(need: string): boolean {
  let found = known.get(need);
  if (found === undefined) {
    found = tried(need);
    known.set(need, found);
  }
  return found;
}

function tried(need: string): boolean {
  switch (need) {
    case 'git':
      return runs('git', '--version');
    case 'mkfifo':
      return runs('mkfifo', '--version');
    case 'pid-namespace-or-cgroup':
      return (
        runs('unshare', '--pid', '--fork', '--kill-child', 'true') ||
        runs('bwrap', '--ro-bind', '/', '/', '--unshare-pid', 'true')
      );
    // Processes are counted by their number that lives on, not by a limit of the system's.
    case 'pids-limit':
      return process.platform === 'linux';
    case 'hardlink':
    case 'symlink':
    case 'sparse':
    case 'unix-socket':
      return process.platform !== 'win32';
    case 'second-process':
      return true;
    default:
      throw new Error(`a need that nobody knows: ${need}`);
  }
}

function runs(file: string, ...args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
