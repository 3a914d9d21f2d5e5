import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * The sandboxes of a command and its children, best first: `bwrap` (its own process namespace, files outside of the workspace
 * read-only), `unshare` (its own process namespace), `process-group` (a process that leaves its group, its parents and its
 * environment escapes).
 */
export type Sandbox = 'bwrap' | 'unshare' | 'process-group';

/** A sandbox that was tried on this system. */
export interface OpenSandbox {
  readonly kind: Sandbox;
  /** What is started for a command. */
  wrap(program: string, args: readonly string[]): { readonly program: string; readonly args: readonly string[] };
}

const NAMESPACES = ['--pid', '--fork', '--kill-child', '--mount-proc'];

/** The first of `kinds` that works here; undefined if none does. */
export function openSandbox(
  kinds: readonly Sandbox[],
  root: string,
  folders: readonly string[],
): OpenSandbox | undefined {
  for (const kind of kinds) {
    const found = candidates(kind, root, folders).find(({ wrap }) => works(wrap));
    if (found !== undefined) return found;
  }
  return undefined;
}

function candidates(kind: Sandbox, root: string, folders: readonly string[]): readonly OpenSandbox[] {
  if (kind === 'process-group') return [{ kind, wrap: (program, args) => ({ program, args }) }];
  const path = folders.map((folder) => `${folder}/${kind}`).find((candidate) => existsSync(candidate));
  if (process.platform !== 'linux' || path === undefined) return [];
  const before =
    kind === 'bwrap'
      ? [bwrapArgs(root)]
      : // Root needs no user namespace; other users get one.
        [NAMESPACES, ['--user', '--map-current-user', ...NAMESPACES]].map((args) => [...args, '--']);
  return before.map((own) => ({
    kind,
    wrap: (program, args) => ({ program: path, args: [...own, program, ...args] }),
  }));
}

/** Without `--new-session`, which would take the command out of the group that is ended. */
function bwrapArgs(root: string): readonly string[] {
  const files = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--bind', root, root];
  return [
    ...files,
    '--unshare-pid',
    '--unshare-ipc',
    '--die-with-parent',
    '--setenv',
    'TMPDIR',
    '/tmp',
    '--chdir',
    root,
    '--',
  ];
}

function works(wrap: OpenSandbox['wrap']): boolean {
  const { program, args } = wrap(process.execPath, ['--version']);
  // `process-group` runs the program itself: there is nothing to try.
  if (program === process.execPath) return true;
  return spawnSync(program, args, { stdio: 'ignore', timeout: 5_000 }).status === 0;
}
