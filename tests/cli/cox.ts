import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const COX = join(ROOT, 'src/cli/cox.ts');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Cox {
  readonly child: ChildProcess;
  /** Resolves once stderr holds the text. */
  says(text: string): Promise<void>;
  readonly ended: Promise<Ended>;
}

export interface CoxOptions {
  /** Default: an empty folder. */
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Default: read here. A file's descriptor writes there. */
  readonly stdout?: 'pipe' | number;
}

/** An empty folder that goes away with the test. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cox-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function fixture(name: string): string {
  return join(ROOT, 'tests/cli/fixtures', name);
}

/** Starts `cox` as a user would, in a folder of its own and without a model in the environment. */
export function startCox(
  args: readonly string[],
  { cwd = emptyFolder(), env = {}, stdout = 'pipe' }: CoxOptions = {},
): Cox {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ['--conditions=@coxswain/source', COX, ...args], {
    cwd,
    env: { ...compiled, PATH, HOME, ...env },
    stdio: ['ignore', stdout, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  const listeners = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (err.includes(text)) resolve();
      };
      listeners.add(look);
      look();
      void ended.then(() => reject(new Error(`cox ended without saying "${text}":\n${err}`)));
    });
  return { child, says, ended };
}

export function cox(args: readonly string[], options?: CoxOptions): Promise<Ended> {
  return startCox(args, options).ended;
}
