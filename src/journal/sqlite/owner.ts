import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** The process that owns a run. `boot` tells a pid of this boot from one of the boot before. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly boot: string;
}

/** An owner that was silent for so long is taken for gone, also where its process is there: it may be another's by now. */
export const SILENT_MS = 15_000;

export function thisProcess(): Owner {
  self ??= { host: hostname(), pid: process.pid, boot: bootId() };
  return self;
}

let self: Owner | undefined;

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Not on Linux: the minute in which the machine started.
    return String(Math.round((Date.now() - performance.now()) / 60_000));
  }
}

/** Whether an owner may still be at work: it was heard of lately, and is not known to be gone. `heartbeat` in milliseconds since 1970. */
export function isAlive(owner: Owner, heartbeat: number, now: number): boolean {
  if (now - heartbeat >= SILENT_MS) return false;
  const own = thisProcess();
  if (owner.host !== own.host) return true;
  if (owner.boot !== own.boot) return false;
  try {
    process.kill(owner.pid, 0);
    return !isDefunct(owner.pid);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether it is a zombie: a container whose first process reaps none keeps zombies for ever (proc(5), `stat`). */
function isDefunct(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it may hold anything, blanks and brackets too.
    return /^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')));
  } catch {
    return false;
  }
}
