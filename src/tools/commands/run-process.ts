import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { endTree, MARK } from './end-tree.ts';
import { Output } from './output.ts';

/** What is started, and what it may take. */
export interface ProcessPlan {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly timeoutMs: number;
  readonly maxOutputChars: number;
  readonly signal: AbortSignal;
}

/** How it ended. `ended` says why we ended it; `cut` which output came to the limit. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly ended: 'timeout' | 'output' | 'abort' | undefined;
  readonly cut: 'stdout' | 'stderr' | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** How long outputs are waited for once the command is over; what still holds them is not of it any more. */
const DRAIN_MS = 500;

/**
 * Runs a program to its end, without a shell and without input. Whatever way it ends, all that it started is ended with it.
 * Rejects with the system's error where it could not be started.
 */
export function runProcess(plan: ProcessPlan): Promise<ProcessEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
  const mark = randomUUID();
  const since = performance.now();
  const output = new Output(plan.maxOutputChars);
  // A group of its own, so that it can be ended as one.
  const child = spawn(plan.program, plan.args, {
    cwd: plan.cwd,
    env: { ...plan.env, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let ended: ProcessEnd['ended'];
  const end = (why: ProcessEnd['ended']) => {
    ended ??= why;
    if (child.pid !== undefined) endTree(child.pid, mark, false);
  };
  const abort = () => end('abort');
  const timer = setTimeout(end, plan.timeoutMs, 'timeout' satisfies ProcessEnd['ended']);
  plan.signal.addEventListener('abort', abort, { once: true });
  const over = () => {
    clearTimeout(timer);
    plan.signal.removeEventListener('abort', abort);
  };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].on('data', (bytes: Buffer) => {
      if (!output.add(stream, bytes)) end('output');
    });
  child.on('error', (error) => {
    over();
    reject(error);
  });
  child.on('exit', (exitCode, signal) => {
    over();
    // Children that were left behind.
    if (child.pid !== undefined) endTree(child.pid, mark, true);
    drained(child).then(() => {
      const durationMs = Math.round(performance.now() - since);
      const texts = output.end();
      if (output.cut !== undefined) ended ??= 'output';
      resolve({ exitCode, signal, ended, cut: output.cut, ...texts, durationMs });
    });
  });
  if (plan.signal.aborted) abort();
  return promise;
}

/** Resolves when both outputs are closed, or nobody is left who should hold them open. */
async function drained(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const timer = setTimeout(() => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, DRAIN_MS);
  await closed;
  clearTimeout(timer);
}
