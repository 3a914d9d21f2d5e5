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

/** How a process ended. `stoppedBy` is the reason for which it was stopped; `truncated` the output that reached the limit. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stoppedBy: 'timeout' | 'output' | 'abort' | undefined;
  readonly truncated: 'stdout' | 'stderr' | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** Milliseconds for which open outputs are read after the end of the command. */
const DRAIN_MS = 500;

/**
 * Runs a program to its end, without a shell and without input. When it ends, all processes that it started are ended too.
 * Rejects with the system's error if it could not be started.
 */
export function runProcess(plan: ProcessPlan): Promise<ProcessEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
  const mark = randomUUID();
  const since = performance.now();
  const output = new Output(plan.maxOutputChars);
  // A separate process group, so that it can be ended as a whole.
  const child = spawn(plan.program, plan.args, {
    cwd: plan.cwd,
    env: { ...plan.env, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let stoppedBy: ProcessEnd['stoppedBy'];
  const end = (why: ProcessEnd['stoppedBy']) => {
    stoppedBy ??= why;
    if (child.pid !== undefined) endTree(child.pid, mark, false);
  };
  const abort = () => end('abort');
  const timer = setTimeout(end, plan.timeoutMs, 'timeout' satisfies ProcessEnd['stoppedBy']);
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
    // Ends remaining children.
    if (child.pid !== undefined) endTree(child.pid, mark, true);
    drained(child).then(() => {
      const durationMs = Math.round(performance.now() - since);
      const texts = output.end();
      if (output.truncated !== undefined) stoppedBy ??= 'output';
      resolve({ exitCode, signal, stoppedBy, truncated: output.truncated, ...texts, durationMs });
    });
  });
  if (plan.signal.aborted) abort();
  return promise;
}

/** Resolves when both outputs are closed, or after `DRAIN_MS`. */
async function drained(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const timer = setTimeout(() => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, DRAIN_MS);
  await closed;
  clearTimeout(timer);
}
