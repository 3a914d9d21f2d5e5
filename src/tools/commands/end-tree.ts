import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A variable that marks the processes of one command, also after their parents have ended. */
export const MARK = 'COXSWAIN_COMMAND';

const ROUNDS = 20;

/**
 * Ends a command's first process and all that it started: the group of processes, on Linux also what left the group, as long as
 * its parents, its session or its environment identify it. Synchronous, so that this process starts nothing meanwhile.
 *
 * @param isOver the first process has ended, so its pid may belong to another process.
 */
export function endTree(pid: number, mark: string, isOver: boolean): void {
  if (process.platform === 'win32') {
    spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' });
    return;
  }
  if (process.platform !== 'linux') {
    kill(-pid);
    return;
  }
  // A process may start another one while it is looked for: until none is left.
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = processesOf(pid, mark, isOver);
    for (const one of found) kill(one);
    if (found.length === 0) return;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Of the first process's group or session, or marked as the command's. */
  readonly isOurs: boolean;
}

function processesOf(first: number, mark: string, isOver: boolean): readonly number[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const all = names.flatMap((name) => readProcess(Number(name), first, mark) ?? []);
  const mine = new Set(all.filter(({ isOurs, pid }) => isOurs || (pid === first && !isOver)).map(({ pid }) => pid));
  for (let before = -1; before !== mine.size; ) {
    before = mine.size;
    for (const { pid, parent } of all) if (mine.has(parent)) mine.add(pid);
  }
  mine.delete(process.pid);
  return [...mine];
}

/** Undefined where it is gone, or dead and only waits to be seen. */
function readProcess(pid: number, first: number, mark: string): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in brackets may contain anything; the numbers follow the last bracket.
    const [state, parent, group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const isOurs = Number(group) === first || Number(session) === first || isMarked(pid, mark);
    return { pid, parent: Number(parent), isOurs };
  } catch {
    return undefined;
  }
}

function isMarked(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`);
  } catch {
    return false;
  }
}
